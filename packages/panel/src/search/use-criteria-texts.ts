import type { EventCriteria } from '@indelible/client';
import { type FacetName, facetNames, facetOf, nilUuid, revealed } from '@indelible/protocol';
import { useMemo } from 'react';
import type { Formats } from '../i18n/formats.ts';
import { type Texts, useReader, wordOf } from '../i18n/texts.tsx';
import { searchOfCriteria } from './criteria.ts';
import type { Facets } from './event-search.ts';
import type { TimeRange } from './time-range.ts';

interface Criterion {
  name: string;
  text: string;
  facet?: FacetName;
}

/** How people call ids. */
type Names = ReadonlyMap<string, string | undefined>;

/** Criteria in one line. */
export const lineOf = (criteria: readonly Criterion[]): string =>
  criteria.map(({ name, text }) => `${name}: ${text}`).join(' · ');

/** Criteria in the reader's words. */
export function useCriteriaTexts() {
  const { t, formats } = useReader();
  return useMemo(() => {
    const rangeText = (range: TimeRange) => rangeTextOf(range, t, formats);
    /** Null for an empty facet. `names` say what ids stand for. */
    const facetText = (facets: Facets, facet: FacetName, names?: Names) =>
      facetTextOf(facets, facet, (value) => names?.get(value) ?? valueText(facet, value, t), t);
    /** When the service took the events; null for any time. */
    const receivedText = ({ receivedFrom: from, receivedTo: to }: Facets) => {
      if (from === undefined && to === undefined) return null;
      const ends = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
      return rangeText({ kind: 'between', ...ends });
    };
    /** Each criterion as name and text, the range first; `names` stand before the ids. */
    const all = (
      facets: Facets,
      range: TimeRange,
      names: Partial<Record<FacetName, Names>> = {},
    ): Criterion[] => [
      { name: t.filters.time, text: rangeText(range) },
      ...[receivedText(facets) ?? []].flat().map((text) => ({ name: t.filters.received, text })),
      ...facetNames.flatMap((facet) => {
        const textOf = (value: string) => {
          const [text, name] = [valueText(facet, value, t), names[facet]?.get(value)];
          return name === undefined ? text : `${name} (${text})`;
        };
        const text = facetTextOf(facets, facet, textOf, t);
        return text === null ? [] : [{ name: t.filters[facet], text, facet }];
      }),
    ];
    /** The texts of stored criteria. */
    const stored = (criteria: EventCriteria) => {
      const { facets, range } = searchOfCriteria(criteria);
      return all(facets, range);
    };
    return { rangeText, facetText, receivedText, all, stored };
  }, [t, formats]);
}

function rangeTextOf(range: TimeRange, t: Texts, formats: Formats): string {
  if (range.kind === 'last') return t.range[range.preset];
  const { to } = range;
  // A kept search without a beginning says 1970.
  const from = range.from === 0 ? undefined : range.from;
  if (from !== undefined && to !== undefined) return formats.range(from, to);
  if (from !== undefined) return t.range.since({ from: formats.range(from, from) });
  return to === undefined ? t.range.all : t.range.until({ to: formats.range(to, to) });
}

function facetTextOf(
  facets: Facets,
  facet: FacetName,
  textOf: (value: string) => string,
  t: Texts,
): string | null {
  const values = facets[facet];
  if (values === undefined) return null;
  const texts = [
    ...values.any.map(textOf),
    ...values.none.map((value) => t.filters.not({ value: textOf(value) })),
  ];
  return texts.length === 0 ? null : texts.join(', ');
}

/** The display text of a facet's value. */
export function valueText(facet: FacetName, value: string, t: Texts): string {
  if (facet === 'action') return wordOf(t.actions, value);
  if (facet === 'resource') return wordOf(t.resources, value);
  if (facet === 'category') return wordOf(t.categories, value);
  if (facet === 'actorType') return wordOf(t.actors.kinds, value);
  if (facet === 'outcome') return wordOf(t.outcomes, value);
  // The service itself, and people without an id, share this one.
  if (value === nilUuid) return `${t.actors.roles.system} / ${t.actors.roles.anonymous}`;
  if (facetOf(facet).columns.boolean) return value === 'true' ? t.filters.yes : t.filters.no;
  return revealed(value);
}
