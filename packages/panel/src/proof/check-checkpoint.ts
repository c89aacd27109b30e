import {
  type Checkpoint,
  formatHex,
  openCheckpoint,
  parseHex,
  portableSha256,
  verifyConsistency,
} from '@indelible/protocol';
import { client } from '../api.ts';
import { keysOf } from './check-event.ts';

/** The latest checkpoint, checked by this browser. */
export interface CheckedCheckpoint {
  note: string;
  isValid: boolean;
  /** Null if no known key has signed the note. */
  checkpoint: Checkpoint | null;
  rootHex: string;
  vkey: string;
  since: SinceLastVisit;
}

/** How the log relates to the checkpoint that this browser saw before. */
export type SinceLastVisit =
  | { kind: 'first' }
  | { kind: 'same' | 'extended' | 'rewritten'; size: number };

interface Seen {
  size: number;
  rootHex: string;
}

export async function checkpointNow(): Promise<CheckedCheckpoint> {
  const bytes = await client.log.checkpoint();
  const note = new TextDecoder().decode(bytes);
  const { keys } = await keysOf(note.split('\n')[0] ?? '');
  const vkeys = keys.map(({ vkey }) => vkey);
  const opened = await openCheckpoint(portableSha256, bytes, vkeys);
  const checkpoint = opened.code === 'valid' ? opened.checkpoint : null;
  const rootHex = checkpoint === null ? '' : formatHex(checkpoint.root);
  const since: SinceLastVisit =
    checkpoint === null ? { kind: 'first' } : await compared(checkpoint);
  const isValid = checkpoint !== null;
  return { note, isValid, checkpoint, rootHex, vkey: vkeys.at(-1) ?? '', since };
}

/** Compares with the checkpoint stored in this browser; stores the newer one if it extends that. */
async function compared(checkpoint: Checkpoint): Promise<SinceLastVisit> {
  const key = `indelible.checkpoint.${checkpoint.origin}`;
  const seen = remembered(key);
  const now = { size: checkpoint.size, rootHex: formatHex(checkpoint.root) };
  if (seen === null) {
    remember(key, now);
    return { kind: 'first' };
  }
  const { size } = seen;
  // An answer may be slightly older than the last one: it is valid if it is a prefix of it.
  const [first, second] = seen.size <= now.size ? [seen, now] : [now, seen];
  const holds = await continues(first, second);
  if (!holds) return { kind: 'rewritten', size };
  remember(key, second);
  return { kind: now.size > size ? 'extended' : 'same', size };
}

async function continues(first: Seen, second: Seen): Promise<boolean> {
  const [firstRoot, secondRoot] = [parseHex(first.rootHex), parseHex(second.rootHex)];
  if (firstRoot === null || secondRoot === null) return false;
  const sizes = { first: first.size, second: second.size };
  const roots = { ...sizes, firstRoot, secondRoot };
  if (first.size === second.size) return verifyConsistency(portableSha256, { ...roots, path: [] });
  const proof = await client.log.consistency(first.size, second.size);
  const path = (proof?.path ?? []).map((hash) => parseHex(hash) ?? new Uint8Array());
  return proof !== null && verifyConsistency(portableSha256, { ...roots, path });
}

function remembered(key: string): Seen | null {
  try {
    const { size, rootHex } = JSON.parse(localStorage.getItem(key) ?? 'null') ?? {};
    return Number.isSafeInteger(size) && typeof rootHex === 'string' ? { size, rootHex } : null;
  } catch {
    return null;
  }
}

function remember(key: string, seen: Seen): void {
  try {
    localStorage.setItem(key, JSON.stringify(seen));
  } catch {}
}
