import { decodeEntry, uuidTimeMs } from '@indelible/protocol';
import type { Visibility } from '../events/index.ts';
import { readEntries } from '../log/index.ts';
import type { TenantTx } from '../postgres/index.ts';

/** How far an event's time may be ahead of its receipt. */
const aheadMsMax = 5 * 60_000;

/**
 * The start of the log's part that may contain visible events: everything before was received so
 * long ago that the plan hides it. Found by bisection, because receipt times only grow.
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
