import {
  type Checkpoint,
  compareCheckpoints,
  formatHex,
  openCheckpoint,
  parseHex,
  portableSha256,
} from '@indelible/protocol';
import { client } from '../api.ts';
import { keep, kept } from '../browser-store.ts';
import { keysOf } from './check-event.ts';

/** The latest checkpoint, checked by this browser. */
export interface CheckedCheckpoint {
  note: string;
  isValid: boolean;
  /** Null if no known key has signed the note. */
  checkpoint: Checkpoint | null;
  rootHex: string;
  /** The newest key. */
  vkey: string;
  since: SinceLastVisit;
}

/** How the log relates to the checkpoint that this browser saw before. */
export type SinceLastVisit =
  | { kind: 'first' }
  | { kind: 'same' | 'extended' | 'older' | 'rewritten'; size: number }
  | { kind: 'otherLog'; origin: string };

export async function checkpointNow(tenantId: string): Promise<CheckedCheckpoint> {
  const bytes = await client.log.checkpoint();
  const note = new TextDecoder().decode(bytes);
  const { keys } = await keysOf(note.split('\n')[0] ?? '');
  const vkeys = keys.map(({ vkey }) => vkey);
  const opened = await openCheckpoint(portableSha256, bytes, vkeys);
  const checkpoint = opened.code === 'valid' ? opened.checkpoint : null;
  const rootHex = checkpoint === null ? '' : formatHex(checkpoint.root);
  const since: SinceLastVisit =
    checkpoint === null ? { kind: 'first' } : await compared(checkpoint, tenantId);
  const isValid = checkpoint !== null;
  return { note, isValid, checkpoint, rootHex, vkey: vkeys[0] ?? '', since };
}

/**
 * Compares with the tenant's checkpoint that is stored in this browser; stores the newer one if it
 * extends that.
 */
async function compared(shown: Checkpoint, tenantId: string): Promise<SinceLastVisit> {
  const key = `indelible.checkpoint.${tenantId}`;
  // Formerly they were stored by origin.
  const seen = checkpointIn(kept(key) ?? kept(`indelible.checkpoint.${shown.origin}`), shown);
  if (seen === null) {
    keepCheckpoint(key, shown);
    return { kind: 'first' };
  }
  const { size, origin } = seen;
  if (origin !== shown.origin) return { kind: 'otherLog', origin };
  // An answer may be slightly older than the last one: it is valid if it is a prefix of it.
  const [first, second] = size <= shown.size ? [seen, shown] : [shown, seen];
  const path = first.size === second.size ? [] : await pathBetween(first.size, second.size);
  const { code } = compareCheckpoints(portableSha256, first, second, path);
  if (code !== 'same' && code !== 'extends') return { kind: 'rewritten', size };
  keepCheckpoint(key, second);
  if (shown.size < size) return { kind: 'older', size };
  return { kind: shown.size > size ? 'extended' : 'same', size };
}

/** A path that the service does not have proves nothing. */
async function pathBetween(first: number, second: number): Promise<Uint8Array[]> {
  const proof = await client.log.consistency(first, second);
  return (proof?.path ?? []).map((hash) => parseHex(hash) ?? new Uint8Array());
}

function checkpointIn(stored: unknown, shown: Checkpoint): Checkpoint | null {
  const { origin = shown.origin, size, rootHex } = (stored ?? {}) as Record<string, unknown>;
  const root = typeof rootHex === 'string' ? parseHex(rootHex) : null;
  const isWhole = typeof origin === 'string' && Number.isSafeInteger(size) && root;
  return isWhole ? { origin, size: Number(size), root } : null;
}

function keepCheckpoint(key: string, { origin, size, root }: Checkpoint): void {
  keep(key, { origin, size, rootHex: formatHex(root) });
}
