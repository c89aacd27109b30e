import { parseTimestamp } from '../event/timestamp.ts';
import { FormatError } from '../log/bytes.ts';
import { isObject } from './strict-json.ts';

/* Checks of the manifests of bundles and archives, which anybody may have written. */

/**
 * The members of a manifest, and `need`, which refuses one that is not as it must be. FormatError
 * unless the text is a JSON object.
 */
export function openManifest(text: string) {
  const need = (fine: boolean, name: string) => {
    if (!fine) throw new FormatError(`the manifest has no valid ${name}`);
  };
  try {
    const json: unknown = JSON.parse(text);
    if (isObject(json)) return { json, need };
  } catch {
    // Reported below, without quoting the file.
  }
  throw new FormatError('the manifest is not a JSON object');
}

export function isMoment(value: unknown): boolean {
  return typeof value === 'string' && parseTimestamp(value) !== null;
}

/** A SHA-256 in hexadecimal. */
export function isDigest(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}
