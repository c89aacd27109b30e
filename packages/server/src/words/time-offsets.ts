import { uuidTimeMs } from '@indelible/protocol';
import type { TenantTx } from '../postgres/db.ts';
import { decodeTimes } from './block-times.ts';
import { searchTimes, timesOfBlocks } from './offsets.store.ts';
import type { BlockRange } from './store.ts';

/** A block, and times in milliseconds. */
export interface TimedBlock {
  block: BlockRange;
  times: readonly number[];
}

/**
 * For each time of each block: how many of its events were before. Few times are searched in the
 * ids; reading the times of all events would take longer.
 */
export async function offsetsOfTimes(
  tx: TenantTx,
  blocks: readonly TimedBlock[],
): Promise<number[][]> {
  const inner = blocks.map(({ block, times }) => ({
    block,
    times: times.filter((ms) => outerOffset(block, ms) === null),
  }));
  const [read, searched] = [inner.filter(hasMany), inner.filter((each) => !hasMany(each))];
  const [encoded, found] = await Promise.all([
    timesOfBlocks(
      tx,
      read.map(({ block }) => block.first),
    ),
    searchTimes(
      tx,
      searched.flatMap(({ block: { first }, times }) => times.map((ms) => ({ first, ms }))),
    ),
  ]);
  let at = 0;
  return blocks.map(({ block, times }) => {
    const bytes = encoded.get(block.first);
    const all = bytes && decodeTimes(bytes, new Float64Array(block.events));
    const offsetOf = (ms: number) => (all ? countBefore(all, ms) : (found[at++] ?? 0));
    return times.map((ms) => outerOffset(block, ms) ?? offsetOf(ms));
  });
}

const hasMany = ({ block, times }: TimedBlock) => times.length > block.entries / 1_024;

/** Null: the time is between two events of the block. */
function outerOffset({ oldestMs, newest, events }: BlockRange, ms: number): number | null {
  if (ms <= oldestMs) return 0;
  return ms > uuidTimeMs(newest) ? events : null;
}

/** How many of these ascending times are before `ms`. */
export function countBefore(times: ArrayLike<number>, ms: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
