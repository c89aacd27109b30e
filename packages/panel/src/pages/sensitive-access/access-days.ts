export interface PersonDays {
  /** The filter value for the person: e-mail, or actor id without one. */
  user: string;
  label: string;
  total: number;
  /** Count by start of day in ms. */
  counts: ReadonlyMap<number, number>;
}

/** A row of `stats?group_by=user,day`. */
export interface PersonDayCount {
  user: string;
  email: string | null;
  day: number;
  count: number;
}

/** One row for each person, the most accesses first. */
export function peopleOf(rows: readonly PersonDayCount[]): PersonDays[] {
  const groups = Map.groupBy(rows, ({ user, email }) => email?.toLowerCase() ?? user);
  return [...groups]
    .map(([user, days]) => {
      const counts = new Map<number, number>();
      for (const { day, count } of days) counts.set(day, (counts.get(day) ?? 0) + count);
      const total = days.reduce((sum, { count }) => sum + count, 0);
      return { user, label: days[0]?.email ?? user, total, counts };
    })
    .sort((a, b) => b.total - a.total || (a.label < b.label ? -1 : 1));
}

/** Step 0 (none) to 5; each step is about three times the previous one. */
export function heatStep(count: number): number {
  if (count === 0) return 0;
  return Math.min(5, 1 + Math.floor(Math.log(count) / Math.log(3)));
}

/**
 * Whether a day is unusual for this person: at least 20 accesses, and five times the median of
 * their other days (at least 2).
 */
export function isUnusual(count: number, person: PersonDays): boolean {
  if (count < 20) return false;
  const others = [...person.counts.values()].sort((a, b) => a - b);
  others.splice(others.indexOf(count), 1);
  const median = others[Math.floor(others.length / 2)] ?? 0;
  return count >= 5 * Math.max(2, median);
}
