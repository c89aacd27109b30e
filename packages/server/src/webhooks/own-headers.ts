import { type FieldProblem, pointerOf } from '@indelible/protocol';
import { credentialProblem } from './format/value-checks.ts';
import { formats } from './formats.ts';
import type { WebhookRow } from './store.ts';

/** New values by name in lower case; null removes a header. */
export type HeaderChanges = Readonly<Record<string, string | null>>;

export const ownHeadersMax = 10;
export const headerValueMax = 1_024;

const nameForm = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
/** What the service or the connection sets: routing, framing, compression and signatures. */
const reserved =
  /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|accept-encoding)$|^(proxy|content|webhook)-/;
/** In a stream these hold the credential. */
const credentialHeaders = ['authorization', 'dd-api-key'];

/** The names, sorted; values are only ever opened for a call. */
export function headerNames({ headers }: Pick<WebhookRow, 'headers'>): string[] {
  return Object.keys(JSON.parse(headers));
}

interface Kept {
  /** Names of the stored headers. */
  names: readonly string[];
  /** Whether the URL still has the origin for which their values were given. */
  isSameReceiver: boolean;
}

/** Reads changes of a webhook's own headers; adds every problem to `problems`. */
export function readHeaders(
  sent: HeaderChanges,
  kept: Kept,
  format: WebhookRow['format'],
  problems: FieldProblem[],
): HeaderChanges {
  const add = (name: string, code: string, message: string) =>
    problems.push({ path: pointerOf('headers', name), code, message });
  const changes = new Map<string, string | null>();
  for (const [name, value] of Object.entries(sent)) {
    const key = name.toLowerCase();
    const wrong = changes.has(key) ? 'appears twice' : problemOf(key, value, format);
    if (wrong !== null) add(name, 'invalid_value', wrong);
    changes.set(key, value);
  }
  const left = kept.names.filter((name) => !changes.has(name));
  for (const name of left) {
    const wrong = nameProblem(name, format);
    if (wrong !== null) add(name, 'invalid_value', wrong);
    // Otherwise a caller who may change the address could have the value sent to its own.
    if (!kept.isSameReceiver) add(name, 'required', 'must be sent again when the receiver changes');
  }
  const count = left.length + [...changes.values()].filter((value) => value !== null).length;
  if (count > ownHeadersMax) {
    const message = `would be ${count} headers; a webhook has at most ${ownHeadersMax}`;
    problems.push({ path: '/headers', code: 'too_many', message });
  }
  return Object.fromEntries(changes);
}

function problemOf(name: string, value: string | null, format: WebhookRow['format']) {
  return value === null ? null : (nameProblem(name, format) ?? credentialProblem(value));
}

function nameProblem(name: string, format: WebhookRow['format']): string | null {
  if (!nameForm.test(name)) return 'is not a name of up to 64 letters, digits, "-", "_" and "."';
  if (reserved.test(name)) return 'is set by the service and cannot be replaced';
  if (formats[format].credential === 'none' || !credentialHeaders.includes(name)) return null;
  return `is not allowed for the format ${format}: send it as the credential`;
}
