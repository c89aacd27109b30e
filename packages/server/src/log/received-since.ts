import { decodeEntry } from '@indelible/protocol';
import type { TenantTx } from '../postgres/db.ts';
import { readEntries, unreadable } from './store.ts';

/** The first entry received since then, or the size. By bisection: receipt times never go back. */
export async function firstReceivedSince(
  tx: TenantTx,
  sinceMs: number,
  size: number,
): Promise<number> {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = await readEntries(tx, middle, middle + 1);
    if (entry === undefined) throw unreadable('a log lacks an entry that it counts', tx.tenantId);
    if (decodeEntry(entry).receivedAtUs < sinceMs * 1_000) low = middle + 1;
    else high = middle;
  }
  return low;
}
