import { type FacetName, facetOf, only, ownResourceProblem } from '@indelible/protocol';
import { type Texts, useTexts } from '../i18n/texts.tsx';
import { type EventSearch, everything, type Facets } from './event-search.ts';
import { finds } from './folding.ts';
import { type Choice, useChoices } from './use-choices.ts';
import { valueText } from './use-criteria-texts.ts';
import { useNamed, useNamesOf, useRested, useUnknown, withNames } from './use-named.ts';

/** Whether a picker chooses wanted or excluded values. */
export type Mode = 'any' | 'none';

interface Picking {
  mode: Mode;
  /** What is typed. */
  text: string;
}

const shownMax = 100;

/**
 * The values that a picker offers for a typed text: those of the search, then those of the whole
 * log, or else the text itself, which is marked if it is a person or resource of no event.
 */
export function useOffered(
  facet: FacetName,
  search: EventSearch,
  nowMs: number,
  { mode, text }: Picking,
) {
  const t = useTexts();
  const choices = useChoices(facet, search, nowMs);
  const rested = useRested(text);
  const isWhole = rested.trim() !== '' && (facet === 'user' || facet === 'resource');
  const everywhere = useChoices(facet, everything, nowMs, isWhole).data ?? [];
  const counted = withNames(
    choices.data ?? [],
    everywhere.map((each) => ({ ...each, count: null })),
  );
  const named = withNames(counted, useNamed(facet, search, nowMs, rested));
  const names = useNamesOf(facet, search.facets);
  // Chosen values may be none of those that events were read for.
  const all = named.map((each) => ({ ...each, label: names.get(each.value) ?? each.label }));
  const chosen = (search.facets[facet]?.[mode] ?? []).map(namedBy(names, facet, t));
  const found = foundChoices(all, chosen, text);
  const typed = found.length === 0 ? typedValue(facet, text, search.facets) : null;
  const isUnknown = useUnknown(facet, text === rested ? typed : null, search.facets);
  const label = isUnknown ? t.filters.unknown({ value: typed ?? '' }) : (typed ?? '');
  const extra = typed === null ? [] : [{ value: typed, label, count: null }];
  return { choices, shown: [...found.slice(0, shownMax), ...extra] };
}

const namedBy =
  (names: ReturnType<typeof useNamesOf>, facet: FacetName, t: Texts) =>
  (value: string): Choice => ({
    value,
    label: names.get(value) ?? valueText(facet, value, t),
    count: null,
  });

/** Chosen values, then the others, that have the typed text. */
function foundChoices(
  choices: readonly Choice[],
  chosen: readonly Choice[],
  text: string,
): Choice[] {
  const known = new Set(choices.map(({ value }) => value));
  const own = chosen.filter(({ value }) => !known.has(value));
  return [...own, ...choices].filter(({ label, value }) => finds(text, `${label} ${value}`));
}

/** The value of the filter that a text is; null if it is none beside the other filters. */
function typedValue(facet: FacetName, text: string, others: Facets): string | null {
  const { normalise } = facetOf(facet);
  const value = normalise(text.trim()) ?? normalise(text.trim().toLowerCase());
  if (value === null) return null;
  return ownResourceProblem({ ...others, [facet]: only(value) }) === null ? value : null;
}
