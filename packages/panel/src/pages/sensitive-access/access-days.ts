export interface PersonDays {
  /** The filter value for the person: e-mail, or actor id without one. */
  user: string;
  label: string;
  total: number;
  /** Count by start of day in ms. */
  counts: ReadonlyMap<number, number>;
  /** The most unusual first. */
  unusual: readonly UnusualDay[];
}

export interface UnusualDay {
  /** Start, ms. */
  day: number;
  count: number;
  /** Median of the person's other days with accesses; 0 without any. */
  usual: number;
}

/** A row of `stats?group_by=user,day`. */
export interface PersonDayCount {
  user: string;
  email: string | null;
  day: number;
  count: number;
}

/** One row for each person: the most unusual day first, then the most accesses. */
export function peopleOf(rows: readonly PersonDayCount[]): PersonDays[] {
  const groups = Map.groupBy(rows, ({ user, email }) => email?.toLowerCase() ?? user);
  return [...groups]
    .map(([user, days]) => {
      const counts = new Map<number, number>();
      for (const { day, count } of days) counts.set(day, (counts.get(day) ?? 0) + count);
      const total = days.reduce((sum, { count }) => sum + count, 0);
      return { user, label: days[0]?.email ?? user, total, counts, unusual: unusualDays(counts) };
    })
    .sort(
      (a, b) =>
        timesUsual(b.unusual[0]) - timesUsual(a.unusual[0]) ||
        b.total - a.total ||
        (a.label < b.label ? -1 : 1),
    );
}

/** How many times the usual count, taken as at least 2; 0 without an unusual day. */
export function timesUsual(day: UnusualDay | undefined): number {
  return day === undefined ? 0 : day.count / Math.max(2, day.usual);
}

const unusualMin = 20;

/** Days with at least 20 accesses, and five times what is usual for this person. */
function unusualDays(counts: ReadonlyMap<number, number>): UnusualDay[] {
  return [...counts]
    .filter(([, count]) => count >= unusualMin)
    .map(([day, count]) => ({ day, count, usual: medianWithout(day, counts) }))
    .filter((each) => timesUsual(each) >= 5)
    .sort((a, b) => timesUsual(b) - timesUsual(a));
}

function medianWithout(day: number, counts: ReadonlyMap<number, number>): number {
  const others = [...counts].filter(([start]) => start !== day).map(([, count]) => count);
  return others.sort((a, b) => a - b)[Math.floor(others.length / 2)] ?? 0;
}

/** A column of the heat map: one day, or a week of a long range. `[from, to)` in ms. */
export interface HeatColumn {
  from: number;
  to: number;
  days: readonly number[];
}

/** More columns do not fit on a screen. */
const daysShownMax = 92;

export function columnsOf(days: readonly number[], to: number): HeatColumn[] {
  const size = days.length > daysShownMax ? 7 : 1;
  return days.flatMap((from, index) => {
    if (index % size !== 0) return [];
    return { from, to: days[index + size] ?? to, days: days.slice(index, index + size) };
  });
}

export function countIn({ days }: HeatColumn, { counts }: PersonDays): number {
  return days.reduce((sum, day) => sum + (counts.get(day) ?? 0), 0);
}

/** Step 0 (none) to 5, in equal parts of the highest count. */
export function heatStep(count: number, highest: number): number {
  return Math.ceil((5 * count) / Math.max(1, highest));
}
