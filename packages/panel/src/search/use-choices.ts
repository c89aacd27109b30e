import { countedFacets, type FacetName, facetOf, filterToJson } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { useTexts } from '../i18n/texts.tsx';
import { type EventSearch, filterAt, withoutFacet } from './event-search.ts';
import { valueText } from './use-criteria-texts.ts';

/** A value that a filter can take. */
export interface Choice {
  value: string;
  label: string;
  /** Events under the other filters; null if not counted. */
  count: number | null;
}

/**
 * The values of a facet under all other filters, most frequent first, counted by the service. Not
 * read for a facet that it does not count, or while it is not `wanted`.
 */
export function useChoices(facet: FacetName, search: EventSearch, nowMs: number, wanted = true) {
  const t = useTexts();
  const group = countedFacets.find((each) => each === facet) ?? null;
  const others = { ...search, facets: withoutFacet(search.facets, facet) };
  const filter = filterAt(others, nowMs);
  // Without a beginning the service would count the last 30 days only.
  const criteria = filterToJson({ ...filter, from: filter.from ?? 0 });
  return useQuery({
    queryKey: ['choices', facet, criteria],
    enabled: group !== null && wanted,
    queryFn: async () => {
      const { data } = await client.stats({ ...criteria, groupBy: [group ?? 'user'] });
      const { normalise } = facetOf(facet);
      const textOf = (row: (typeof data)[number]) =>
        String((group === 'user' ? row.email : null) ?? row[group ?? 'user']);
      const stated = data.filter((row) => row[group ?? 'user'] !== null);
      const rows = stated.map((row) => ({
        value: normalise(textOf(row)) ?? textOf(row),
        email: typeof row.email === 'string' ? row.email : null,
        count: row.count,
      }));
      return summed(rows).sort((a, b) => b.count - a.count);
    },
    select: (rows): Choice[] =>
      rows.map(({ value, email, count }) => ({
        value,
        label: email ?? valueText(facet, value, t),
        count,
      })),
  });
}

interface CountedValue {
  value: string;
  email: string | null;
  count: number;
}

/**
 * One row for each value: people with one address, or several ids of one person, are one choice.
 */
function summed(rows: readonly CountedValue[]): CountedValue[] {
  const byValue = new Map<string, CountedValue>();
  for (const row of rows) {
    const known = byValue.get(row.value);
    byValue.set(row.value, { ...row, count: row.count + (known?.count ?? 0) });
  }
  return [...byValue.values()];
}
