/** What each facet of a filter accepts, and how its texts become values. */

import { categories } from '../event/catalogue-data.ts';
import { isUuid } from '../event/event-id.ts';
import { emailKey, isEmail, isSnakeCase } from '../event/field-rules.ts';
import {
  canonicalValues,
  type EventFilter,
  type FacetName,
  facetValuesMax,
  type ValueFilter,
} from './event-filter.ts';

interface FacetRule {
  /** Completes the sentence "must be …". */
  expected: string;
  /** The one spelling of a valid value, or null. */
  normalise(text: string): string | null;
}

const word: FacetRule = {
  expected: 'a snake_case word of at most 64 characters',
  normalise: (text) => (isSnakeCase(text) ? text : null),
};

const facetRules: Readonly<Record<FacetName, FacetRule>> = {
  user: { expected: "an actor's id (UUID) or e-mail address", normalise: userValue },
  action: word,
  resource: word,
  resourceId: { expected: 'a UUID', normalise: uuidValue },
  crossTenant: oneOfRule(['true', 'false']),
  category: oneOfRule(categories),
};

export const timestampExpected =
  'an ISO 8601 time of the years 1970 to 9999, such as 2025-09-03T10:00:00.000Z';

/**
 * The texts of one facet as a canonical filter; a leading `!` excludes a value. Wrong ones are
 * told to `refuse` with their index, too many of them with none.
 */
export function readFacet(
  facet: FacetName,
  texts: readonly string[],
  refuse: (message: string, index?: number) => void,
): ValueFilter {
  const any: string[] = [];
  const none: string[] = [];
  if (texts.length > facetValuesMax) {
    refuse(`takes at most ${facetValuesMax} values`);
    return { any, none };
  }
  const rule = facetRules[facet];
  for (const [index, text] of texts.entries()) {
    const excluded = text.startsWith('!');
    const value = rule.normalise(excluded ? text.slice(1) : text);
    if (value === null) refuse(`must be ${rule.expected} (a leading ! excludes it)`, index);
    else (excluded ? none : any).push(value);
  }
  return canonicalValues({ any, none });
}

/** Whether the filter's range is a range: `from` before `to`, when both are given. */
export function isRange({ from, to }: EventFilter): boolean {
  return from === undefined || to === undefined || from < to;
}

function userValue(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase();
  // Judged after lowering, which can lengthen a text: a canonical value must be valid again.
  const key = emailKey(text);
  return isEmail(key) ? key : null;
}

function uuidValue(text: string): string | null {
  return isUuid(text) ? text.toLowerCase() : null;
}

function oneOfRule(values: readonly string[]): FacetRule {
  return {
    expected: `one of ${values.join(', ')}`,
    normalise: (text) => (values.includes(text) ? text : null),
  };
}
