/** The filter as a JSON object, the `filters` of exports and saved searches. */

import { type FieldProblem, fieldProblemsMax, pointerOf } from '../event/field-problem.ts';
import { parseTimestamp } from '../event/timestamp.ts';
import { type EventFilter, type FacetName, facetNames } from './event-filter.ts';
import { isRange, readFacet, timestampExpected } from './filter-values.ts';
import { unknownNameMessage } from './nearest-name.ts';

/** All that is wrong with a filter in a body. */
export interface FilterRefusal {
  code: 'validation_failed';
  problems: FieldProblem[];
}

type Refuse = (tokens: readonly (string | number)[], message: string, code?: string) => void;

const memberNames: readonly string[] = ['from', 'to', ...facetNames];

/**
 * The filter of `{from, to, user, action, resource, resourceId, crossTenant, category}`: times are
 * strings; each other member is a value or an array of 1 to 20, strings or, for `crossTenant`,
 * booleans; a leading `!` excludes. Problems (at most 50) carry JSON Pointers that begin with `at`,
 * and the codes `unknown_field`, `invalid_type`, `invalid_value`, `too_many`, `too_few`.
 */
export function parseFilterBody(json: unknown, at = ''): { filter: EventFilter } | FilterRefusal {
  const problems: FieldProblem[] = [];
  const refuse: Refuse = (tokens, message, code = 'invalid_value') => {
    if (problems.length >= fieldProblemsMax) return;
    problems.push({ path: at + pointerOf(...tokens), code, message });
  };
  const filter = readFilter(json, refuse);
  return problems.length === 0 ? { filter } : { code: 'validation_failed', problems };
}

function readFilter(json: unknown, refuse: Refuse): EventFilter {
  const filter: EventFilter = {};
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    refuse([], 'must be an object', 'invalid_type');
    return filter;
  }
  const unknown = Object.keys(json).filter((name) => !memberNames.includes(name));
  // Cut before comparing names: a body can hold very many of them.
  for (const name of unknown.slice(0, fieldProblemsMax)) {
    refuse([name], unknownNameMessage(name, memberNames), 'unknown_field');
  }
  for (const [name, value] of Object.entries(json)) {
    const facet = facetNames.find((each) => each === name);
    if (name === 'from' || name === 'to') readTime(filter, name, value, refuse);
    else if (facet !== undefined) readMember(filter, facet, value, refuse);
  }
  if (!isRange(filter)) refuse(['to'], 'must be later than from');
  return filter;
}

function readTime(filter: EventFilter, name: 'from' | 'to', value: unknown, refuse: Refuse): void {
  const moment = typeof value === 'string' ? parseTimestamp(value) : null;
  if (moment === null) refuse([name], `must be ${timestampExpected}`);
  else filter[name] = moment;
}

function readMember(filter: EventFilter, facet: FacetName, value: unknown, refuse: Refuse): void {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const pathOf = (index: number) => (Array.isArray(value) ? [facet, index] : [facet]);
  // An empty array is more likely a selection that came to nothing than the wish to see all.
  if (items.length === 0) refuse([facet], 'must hold a value or be left out', 'too_few');
  const texts = items.map((item) => textOf(facet, item));
  for (const [index, text] of texts.entries()) {
    if (text === null) refuse(pathOf(index), 'must be a string', 'invalid_type');
  }
  filter[facet] = readFacet(
    facet,
    texts.map((text) => text ?? ''),
    (message, index) => {
      if (index === undefined) refuse([facet], message, 'too_many');
      else if (texts[index] !== null) refuse(pathOf(index), message);
    },
  );
}

function textOf(facet: FacetName, item: unknown): string | null {
  if (facet === 'crossTenant' && typeof item === 'boolean') return String(item);
  return typeof item === 'string' ? item : null;
}
