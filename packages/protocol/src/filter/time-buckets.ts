/** Local-time buckets for counting events by minute, hour or day in any IANA time zone. */

export const timeUnits = ['minute', 'hour', 'day'] as const;
export type TimeUnit = (typeof timeUnits)[number];

const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const formattersMax = 100;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether `name` is an IANA time zone known to this runtime (`+02:00` and `''` are not). */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * The starts (ms since 1970, ascending) of the local-time buckets that cover `[fromMs, toMs)`; null
 * if there are more than `max`. The first may start before `fromMs`; each ends where the next
 * starts. A day starts at its first moment, not midnight if clocks skip that; a day that a zone
 * skips has no bucket. An hour or minute that occurs twice has a bucket for each offset. Throws
 * RangeError for an unknown zone.
 */
export function bucketStarts(
  fromMs: number,
  toMs: number,
  unit: TimeUnit,
  timeZone: string,
  max: number,
): number[] | null {
  const size = unitMs[unit];
  // Skipped days and clock changes alter the count only slightly, so refuse before counting.
  if ((toMs - fromMs) / size > max + 3) return null;
  if (toMs <= fromMs) return [];
  // Three units earlier is before the bucket of `from`, whatever the clock changes.
  const starts: number[] = [];
  let lastUnit = Number.NEGATIVE_INFINITY;
  for (const { start, end, offset } of constantOffsets(fromMs - 3 * size, toMs, timeZone)) {
    if (unit !== 'day') lastUnit = Number.NEGATIVE_INFINITY;
    const first = Math.max(Math.floor((start + offset) / size), lastUnit + 1);
    const last = Math.floor((end - 1 + offset) / size);
    for (let local = first; local <= last; local++) {
      starts.push(Math.max(start, local * size - offset));
    }
    lastUnit = Math.max(lastUnit, last);
  }
  const covering = starts.slice(starts.findLastIndex((start) => start <= fromMs));
  return covering.length > max ? null : covering;
}

interface OffsetSpan {
  start: number;
  end: number;
  /** Local time minus UTC, in ms. */
  offset: number;
}

/** Splits `[from, to)` where the zone's offset changes: checks each day, then bisects it. */
function* constantOffsets(from: number, to: number, timeZone: string): Generator<OffsetSpan> {
  let start = from;
  let offset = offsetAt(from, timeZone);
  let seen = from;
  while (seen < to) {
    const next = Math.min(seen + unitMs.day, to);
    if (offsetAt(next, timeZone) === offset) {
      seen = next;
      continue;
    }
    const change = firstChange(seen, next, offset, timeZone);
    yield { start, end: change, offset };
    start = change;
    seen = change;
    offset = offsetAt(change, timeZone);
  }
  if (start < to) yield { start, end: to, offset };
}

/** The first moment in `(low, high]` with another offset than at `low`. */
function firstChange(low: number, high: number, offset: number, timeZone: string): number {
  let same = low;
  let changed = high;
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (offsetAt(middle, timeZone) === offset) same = middle;
    else changed = middle;
  }
  return changed;
}

/** Parses `12/31/2017, GMT-02:00`; zones before 1972 may have seconds (`GMT-00:44:30`). */
function offsetAt(ms: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  const text = formatterOf(timeZone).format(ms);
  const match = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text);
  if (match === null) return 0;
  const [, sign, hours, minutes, seconds = 0] = match;
  const total = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000;
  return sign === '-' ? -total : total;
}

/** Cached, because creation is slow; limited, because different case makes many names. */
function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  if (formatters.size >= formattersMax) formatters.clear();
  formatters.set(timeZone, made);
  return made;
}
