import { bucketStarts, type TimeUnit } from '@indelible/protocol';

/** What a histogram marks: acts of operators, or what did not succeed. */
export type Mark = 'category' | 'outcome';

/** One bar: `[from, to)` in ms, how many events, and how many of them are marked. */
export interface Bar {
  from: number;
  to: number;
  count: number;
  marked: number;
}

/** A row of `stats?group_by=<unit>,<mark>`. */
export interface BucketCount {
  start: number;
  /** The category or outcome. */
  word: string;
  count: number;
}

const hour = 3_600_000;
const day = 24 * hour;
const barsMax = 96;
/** Categories and outcomes have no word in common. */
const markedWords = ['cross_tenant', 'failure', 'denied'];

/** The unit in which a range of this length is counted: at most 240 buckets, whole days beyond. */
export function unitFor(spanMs: number): TimeUnit {
  if (spanMs <= 4 * hour) return 'minute';
  return spanMs <= 10 * day ? 'hour' : 'day';
}

/**
 * Bars without gaps over `[from, to)`; neighbouring buckets are joined until at most 96 are left.
 */
export function barsOf(
  counts: readonly BucketCount[],
  range: { from: number; to: number },
  unit: TimeUnit,
  timeZone: string,
): Bar[] {
  const starts = bucketStarts(range.from, range.to, unit, timeZone, 65_000) ?? [];
  const perBar = Math.max(1, Math.ceil(starts.length / barsMax));
  const bars: Bar[] = [];
  const barOfStart = new Map<number, Bar>();
  for (let at = 0; at < starts.length; at += perBar) {
    const from = starts[at] ?? range.from;
    const bar = { from, to: starts[at + perBar] ?? range.to, count: 0, marked: 0 };
    bars.push(bar);
    for (const start of starts.slice(at, at + perBar)) barOfStart.set(start, bar);
  }
  for (const { start, word, count } of counts) {
    const bar = barOfStart.get(start);
    if (bar === undefined) continue;
    bar.count += count;
    if (markedWords.includes(word)) bar.marked += count;
  }
  return bars;
}
