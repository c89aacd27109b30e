import { firstUuidAt, uuidTimeMs } from '@indelible/protocol';

/** How far the rows of a file were read, newest first, and the time span of the next read. */
export interface TimeWalk {
  /** All ids from here on were read; null: none yet. */
  before: string | null;
  /** The time of `before`, or about the newest time. */
  atMs: number;
  spanMs: number;
  /** The oldest wanted id. */
  oldest: string;
}

const dayMs = 86_400_000;
/** A longer read is shortened; a quick one with few results is lengthened. */
const longMs = 2_000;
const quickMs = 500;

export function beginWalk(newestMs: number, oldest: string): TimeWalk {
  return { before: null, atMs: newestMs, spanMs: dayMs, oldest };
}

/** The range of ids to read. The first range has no end, because events may have future times. */
export function nextRange({ before, atMs, spanMs, oldest }: TimeWalk) {
  const from = firstUuidAt(atMs - spanMs);
  return { from: from > oldest ? from : oldest, before };
}

/**
 * The walk after a read with these rows; null at the end. A read is limited by what it may scan,
 * not by its matches: a filter with few matches must not reach the statement timeout. In a dense
 * log a read opens only the partitions of the next page.
 */
export function advance(
  walk: TimeWalk,
  found: { last: string | null; more: boolean; tookMs: number },
): TimeWalk | null {
  const { from } = nextRange(walk);
  if (found.more && found.last !== null) {
    const atMs = uuidTimeMs(found.last);
    const spanMs = Math.max(2 * (walk.atMs - atMs), 1_000);
    return { ...walk, before: found.last, atMs, spanMs };
  }
  if (from === walk.oldest) return null;
  const factor = found.tookMs > longMs ? 0.5 : found.tookMs < quickMs ? 4 : 1;
  return { ...walk, before: from, atMs: uuidTimeMs(from), spanMs: walk.spanMs * factor };
}

/** A shorter read after one that took too long; null if none is possible. */
export function shorten(walk: TimeWalk): TimeWalk | null {
  return walk.spanMs <= 1 ? null : { ...walk, spanMs: Math.max(walk.spanMs / 4, 1) };
}
