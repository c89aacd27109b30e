import type { TenantTx } from '../postgres/tenant-tx.ts';
import { decodedEntries } from './entries.store.ts';

/** The first entry received since then, or the size. By bisection: receipt times never go back. */
export async function firstReceivedSince(
  tx: TenantTx,
  sinceMs: number,
  size: number,
): Promise<number> {
  return firstThat(size, async (sequence) => {
    const [entry] = await decodedEntries(tx, sequence, sequence + 1);
    return entry !== undefined && entry.receivedAtUs >= sinceMs * 1_000;
  });
}

/** The first number below `end` for which this holds, as for all behind it; else `end`. */
export async function firstThat(
  end: number,
  holds: (number: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
