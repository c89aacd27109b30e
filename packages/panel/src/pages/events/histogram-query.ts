import { filterToJson, formatTimestamp, parseTimestamp } from '@indelible/protocol';
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { type EventSearch, filterAt } from '../../search/event-search.ts';
import { type BucketCount, type Mark, unitFor } from './buckets.ts';

/** Counts of a search over time; without a start, from the first retained event. */
export function histogramQuery(search: EventSearch, nowMs: number, timeZone: string, mark: Mark) {
  const { from, to = nowMs, ...facets } = filterAt(search, nowMs);
  const unit = unitFor(to - (from ?? 0));
  // Without a `from` the service would count the last 30 days only.
  const criteria = { ...filterToJson({ ...facets, to }), from: formatTimestamp(from ?? 0) };
  return queryOptions({
    queryKey: ['histogram', criteria, unit, timeZone, mark],
    queryFn: async () => {
      const answer = await client.stats({ ...criteria, groupBy: [unit, mark], timeZone });
      const counts: BucketCount[] = answer.data.map((row) => ({
        start: parseTimestamp(String(row[unit])) ?? 0,
        word: String(row[mark]),
        count: row.count,
      }));
      const first = Math.min(to - 1, ...counts.map(({ start }) => start));
      return { counts, unit, range: { from: from ?? first, to } };
    },
    placeholderData: keepPreviousData,
  });
}
