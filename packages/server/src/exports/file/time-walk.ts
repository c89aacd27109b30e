import { firstUuidAt, uuidTimeMs } from '@indelible/protocol';

/** How far the rows of a file have been read, newest first, and how far back the next look goes. */
export interface TimeWalk {
  /** Everything from this id on has been read; null: nothing yet. */
  before: string | null;
  /** The moment of `before`, or about the newest there is. */
  atMs: number;
  spanMs: number;
  /** The oldest id that is wanted. */
  oldest: string;
}

const dayMs = 86_400_000;
/** A look that took longer is made shorter, one that was quick and found little longer. */
const longMs = 2_000;
const quickMs = 500;

export function beginWalk(newestMs: number, oldest: string): TimeWalk {
  return { before: null, atMs: newestMs, spanMs: dayMs, oldest };
}

/** The range of ids to look into. The first one has no end: no event is too new for it. */
export function nextRange({ before, atMs, spanMs, oldest }: TimeWalk) {
  const from = firstUuidAt(atMs - spanMs);
  return { from: from > oldest ? from : oldest, before };
}

/**
 * Goes on behind a look that found these rows; null at the end. Looks are bounded by what they may
 * have to read, not by what they find: a filter that matches next to nothing must not run into the
 * limit of a statement. In a dense log they open no more partitions than hold the next page.
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

/** A shorter look after one that took too long; null when there is none. */
export function shorten(walk: TimeWalk): TimeWalk | null {
  return walk.spanMs <= 1 ? null : { ...walk, spanMs: Math.max(walk.spanMs / 4, 1) };
}

/** Whether a statement ran into the limit of its time: SQLSTATE 57014. */
export function tookTooLong(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}
