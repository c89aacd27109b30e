/** Reads a filter strictly from query parameters, bodies and stored texts. */

import { type FieldProblem, fieldProblemsMax, pointerOf } from '../event/field-problem.ts';
import { parseTimestamp } from '../event/timestamp.ts';
import {
  canonicalValues,
  type EventFilter,
  ownResourceProblem,
  type ValueFilter,
} from './event-filter.ts';
import {
  type BoundName,
  boundNames,
  bounds,
  type FacetName,
  type FilterName,
  facetNames,
  facetOf,
  facetValuesMax,
  filterNames,
} from './facets.ts';
import { unknownNameMessage } from './nearest-name.ts';
import { type ParamReader, paramOf } from './query-params.ts';

const timestampExpected =
  'an ISO 8601 time of the years 1970 to 9999, such as 2025-09-03T10:00:00.000Z';

/** Reads the filter's parameters; problems go to the reader. */
export function readFilterParams(reader: ParamReader): EventFilter {
  const filter: EventFilter = {};
  for (const bound of boundNames) {
    const moment = reader.one(paramOf(bound), timestampExpected, parseTimestamp);
    if (moment !== undefined) filter[bound] = moment;
  }
  for (const facet of facetNames) {
    const name = paramOf(facet);
    const texts = reader.all(name);
    if (texts.length === 0) continue;
    filter[facet] = readFacet(facet, texts, (message, index) => {
      const which = index === undefined || texts.length === 1 ? '' : `value ${index + 1} `;
      reader.refuse(name, which + message);
    });
  }
  for (const [name, message] of contradictionsOf(filter, paramOf)) {
    reader.refuse(paramOf(name), message);
  }
  return filter;
}

/** All problems of a filter in a body. */
export interface FilterRefusal {
  code: 'validation_failed';
  problems: FieldProblem[];
}

type Refuse = (tokens: readonly (string | number)[], message: string, code?: string) => void;

/**
 * Reads the filter of a JSON object with filter names as members. Times are strings. Any other
 * member is a value or an array of 1 to 20 values: strings, or booleans for a boolean filter; a
 * leading `!` excludes. At most 50 problems, with JSON Pointers below `at` and the codes
 * `unknown_field`, `invalid_type`, `invalid_value`, `too_many`, `too_few`. Only the filters in
 * `known` are accepted.
 */
export function parseFilterBody(
  json: unknown,
  at = '',
  known: readonly FilterName[] = filterNames,
): { filter: EventFilter } | FilterRefusal {
  const problems: FieldProblem[] = [];
  const refuse: Refuse = (tokens, message, code = 'invalid_value') => {
    if (problems.length >= fieldProblemsMax) return;
    problems.push({ path: at + pointerOf(...tokens), code, message });
  };
  const filter = readMembers(json, known, refuse);
  for (const [name, message] of contradictionsOf(filter, String)) refuse([name], message);
  return problems.length === 0 ? { filter } : { code: 'validation_failed', problems };
}

/**
 * Reads a text of `filterToJson`, also one that contradicts itself: earlier builds stored it.
 * Throws Error for any other text.
 */
export function storedFilter(text: string): EventFilter {
  return readMembers(JSON.parse(text), filterNames, (tokens, message) => {
    throw new Error(`a stored filter cannot be read: ${pointerOf(...tokens)} ${message}`);
  });
}

function readMembers(json: unknown, known: readonly FilterName[], refuse: Refuse): EventFilter {
  const filter: EventFilter = {};
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    refuse([], 'must be an object', 'invalid_type');
    return filter;
  }
  const nameOf = (member: string) => known.find((name) => name === member);
  const unknown = Object.keys(json).filter((member) => nameOf(member) === undefined);
  // Limited before comparing names, because a body can hold very many.
  for (const member of unknown.slice(0, fieldProblemsMax)) {
    refuse([member], unknownNameMessage('filter', member, known), 'unknown_field');
  }
  for (const [member, value] of Object.entries(json)) {
    const name = nameOf(member);
    if (name === undefined) continue;
    if (isBound(name)) readTime(filter, name, value, refuse);
    else readValues(filter, name, value, refuse);
  }
  return filter;
}

function readTime(filter: EventFilter, name: BoundName, value: unknown, refuse: Refuse): void {
  const moment = typeof value === 'string' ? parseTimestamp(value) : null;
  if (moment === null) refuse([name], `must be ${timestampExpected}`);
  else filter[name] = moment;
}

function readValues(filter: EventFilter, facet: FacetName, value: unknown, refuse: Refuse): void {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const pathOf = (index: number) => (Array.isArray(value) ? [facet, index] : [facet]);
  // An empty array is probably an empty selection, not a request for everything.
  if (items.length === 0) refuse([facet], 'must have a value or be omitted', 'too_few');
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
  if (typeof item === 'boolean' && facetOf(facet).columns.boolean) return String(item);
  return typeof item === 'string' ? item : null;
}

/**
 * Reads the texts of one facet as a canonical filter; a leading `!` excludes a value. Reports wrong
 * values to `refuse` with their index, and too many values without one.
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
  const { expected, normalise } = facetOf(facet);
  for (const [index, text] of texts.entries()) {
    const excluded = text.startsWith('!');
    const value = normalise(excluded ? text.slice(1) : text);
    if (value === null) refuse(`must be ${expected} (a leading ! excludes it)`, index);
    else (excluded ? none : any).push(value);
  }
  return canonicalValues({ any, none });
}

/**
 * What contradicts itself: empty ranges, a value wanted and excluded, an own id without its type.
 * `nameOf` is for sentences.
 */
function contradictionsOf(
  filter: EventFilter,
  nameOf: (name: BoundName) => string,
): [FilterName, string][] {
  const problems = boundNames.flatMap((end): [FilterName, string][] => {
    const { after }: { about: string; after?: BoundName } = bounds[end];
    const [from, to] = [after && filter[after], filter[end]];
    const isEmpty = from !== undefined && to !== undefined && to <= from;
    return after && isEmpty ? [[end, `must be later than ${nameOf(after)}`]] : [];
  });
  for (const facet of facetNames) {
    const { any = [], none = [] } = filter[facet] ?? {};
    const both = any.find((value) => none.includes(value));
    if (both !== undefined)
      problems.push([facet, `wants and excludes "${both}": leave one of the two out`]);
  }
  const ofResource = ownResourceProblem(filter);
  return ofResource === null ? problems : [...problems, ['resourceId', ofResource]];
}

function isBound(name: FilterName): name is BoundName {
  return boundNames.some((bound) => bound === name);
}
