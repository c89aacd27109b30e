import { bucketStarts } from '@indelible/protocol';

/** How often a digest is sent. */
export type Frequency = 'weekly' | 'monthly';

/** `[fromMs, toMs)`, from midnight to midnight in the reader's time zone. */
export interface Period {
  fromMs: number;
  toMs: number;
}

const dayMs = 86_400_000;

/** Weeks begin on Monday, as in ISO 8601. */
function startsOf(frequency: Frequency, fromMs: number, toMs: number, timeZone: string): number[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short', day: 'numeric' });
  const isStart = (ms: number) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return frequency === 'weekly' ? parts.get('weekday') === 'Mon' : parts.get('day') === '1';
  };
  const days = bucketStarts(fromMs, toMs, 'day', timeZone, 100) ?? [];
  return days.filter((ms) => ms >= fromMs && isStart(ms));
}

/** The start of the period that is running. */
export function runningSince(frequency: Frequency, timeZone: string, nowMs: number): number {
  return startsOf(frequency, nowMs - 40 * dayMs, nowMs + 1, timeZone).at(-1) ?? nowMs;
}

/**
 * The period after `untilMs`, the end of the one before; null until it is over. Two days of
 * tolerance: the tenant may have another time zone since, whose midnights are others.
 */
export function nextPeriod(
  frequency: Frequency,
  timeZone: string,
  untilMs: number,
  nowMs: number,
): Period | null {
  const end = Math.min(nowMs + 1, untilMs + 40 * dayMs);
  const [toMs] = startsOf(frequency, untilMs + 2 * dayMs, end, timeZone);
  return toMs === undefined ? null : { fromMs: untilMs, toMs };
}
