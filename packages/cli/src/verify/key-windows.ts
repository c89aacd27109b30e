import {
  clockSlackMs,
  type Findings,
  formatAnyTimestamp,
  parseTimestamp,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';
import type { EntryFile } from './entry-file.ts';
import type { KeyWindow, SignedCheckpoint } from './trusted-checkpoint.ts';

/** The periods of use in a list of keys of the service; skips keys without one. */
export function keyWindowsOf(keys: readonly unknown[]): KeyWindow[] {
  return keys.flatMap((key) => {
    const { vkey, notAfter } = (key ?? {}) as { vkey?: unknown; notAfter?: unknown };
    const notAfterMs = typeof notAfter === 'string' ? parseTimestamp(notAfter) : null;
    const isKnown = typeof vkey === 'string' && (notAfter === null || notAfterMs !== null);
    return isKnown ? [{ vkey, notAfterMs }] : [];
  });
}

/**
 * A checkpoint has no time of signing, but it was signed after its last entry. A key that was
 * retired before then may have been stolen.
 */
export function compareWithWindows(
  { keys, signedBy }: SignedCheckpoint,
  file: EntryFile,
  findings: Findings,
): void {
  if (file.size === 0) return;
  const entry = file.at(file.size - 1);
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  const lastMs = (view.getUint32(4) * 2 ** 32 + view.getUint32(8)) / 1_000;
  // A key that was used again has a period for each time.
  const windows = (keys.windows ?? []).filter(({ vkey }) => signedBy.includes(vkey));
  const isOpen = windows.some(
    ({ notAfterMs }) => notAfterMs === null || lastMs <= notAfterMs + clockSlackMs,
  );
  if (isOpen || windows.length === 0) return;
  const endMs = Math.max(...windows.map(({ notAfterMs }) => notAfterMs ?? 0));
  const message =
    `The checkpoint covers entries up to ${formatAnyTimestamp(Math.floor(lastMs))}, but the key that ` +
    `signed it was in use until ${formatAnyTimestamp(endMs)}.`;
  addDamage(findings, 'retired_key', message);
}
