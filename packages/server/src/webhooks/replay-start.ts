import { decodeEntry, uuidTimeMs } from '@indelible/protocol';
import type { Visibility } from '../events/index.ts';
import { readEntries } from '../log/index.ts';
import type { TenantTx } from '../postgres/index.ts';

/** An event may be dated so far ahead of its receipt, and not further. */
const aheadMsMax = 5 * 60_000;

/**
 * Where the part of the log begins in which there may be events that the plan still shows:
 * everything before was received so long ago that it is hidden by age. Found by halving, because
 * receipt times only grow along a log.
 */
export async function firstShown(
  tx: TenantTx,
  { oldest, size }: Pick<Visibility, 'oldest' | 'size'>,
): Promise<number> {
  const sinceUs = (uuidTimeMs(oldest) - aheadMsMax) * 1_000;
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = await readEntries(tx, middle, middle + 1);
    if (entry && decodeEntry(entry).receivedAtUs < sinceUs) low = middle + 1;
    else high = middle;
  }
  return low;
}
