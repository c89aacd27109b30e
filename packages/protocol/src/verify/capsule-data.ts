import { parseFilterBody } from '../filter/read-filter.ts';
import { type JsonSchema, schemaProblem } from '../json/schema-problem.ts';
import { FormatError } from '../log/bytes.ts';
import {
  type CountOrMore,
  namedFilters,
  type UnknownValues,
  type ValueTotal,
} from './unknown-values.ts';

export const capsuleFormat = 'indelible-capsule/v1';

/** What a search could find at all, as the service states it. Times are ISO 8601. */
export interface Coverage {
  /** When the first entry of the log was received. */
  logBeganAt: string;
  /** The plan shows what happened or was received since. */
  shownFrom: string;
  /** All events of the time range, whatever the other filters are. */
  eventsInRange: CountOrMore;
  /** For each person and resource that the filter names: its events at any time. */
  totals: ValueTotal[];
}

/** Numbers of events that were not received, and the two receipts between which they lie. */
export interface SourceGap {
  from: number;
  to: number;
  afterReceivedAt: string;
  noticedAt: string;
}

/** A source that numbered its events in a time range, and what was not received from it. */
export interface CoveredSource {
  id: string;
  firstReceivedAt: string;
  lastReceivedAt: string;
  gaps: SourceGap[];
  /** Whether gaps may be missing from the list. */
  gapsDropped: boolean;
}

/** The data of a capsule, as its JSON says it. */
export interface CapsuleData {
  format: typeof capsuleFormat;
  madeAt: string;
  tenant: { id: string; name: string };
  search: {
    id: string;
    url: string;
    note?: string;
    createdAt: string;
    createdBy: { id: string; email?: string };
    filters: Record<string, string | string[]>;
    matched: number;
    digest: string;
    /** Absent in capsules of builds that did not look for them; see `unknownOf`. */
    unknownValues?: UnknownValues;
  };
  /** The signed note under which the search was saved. */
  checkpoint: string;
  vkeys: string[];
  /**
   * The entries from `first` up to the checkpoint in base64, and in hexadecimal the roots of the
   * complete subtrees before them.
   */
  log: { first: number; frontier: string; entries: string };
  /** Body lines of all events of the range; those that do not match show only what decides that. */
  bodies: object[];
  coverage: Coverage;
  sources: CoveredSource[];
}

const text: JsonSchema = { type: 'string' };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const object = (
  properties: Record<string, JsonSchema>,
  optional: readonly string[] = [],
): JsonSchema => {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
};
const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
const countOrMore = object({ value: count, relation: text });
const unknownValues = object(
  Object.fromEntries(namedFilters.map((name) => [name, list(text)])),
  namedFilters,
);
const gap = object({ from: count, to: count, afterReceivedAt: text, noticedAt: text });

const schema = object({
  format: { type: 'string', pattern: `^${capsuleFormat}$` },
  madeAt: text,
  tenant: object({ id: text, name: text }),
  search: object(
    {
      id: text,
      url: text,
      note: text,
      createdAt: text,
      createdBy: object({ id: text, email: text }, ['email']),
      filters: { type: 'object' },
      matched: count,
      digest: text,
      unknownValues,
    },
    ['note', 'unknownValues'],
  ),
  checkpoint: text,
  vkeys: { ...list(text), minItems: 1 },
  log: object({ first: count, frontier: text, entries: text }),
  bodies: list({ type: 'object' }),
  coverage: object({
    logBeganAt: text,
    shownFrom: text,
    eventsInRange: countOrMore,
    totals: list(object({ filter: text, value: text, events: countOrMore })),
  }),
  sources: list(
    object({
      id: text,
      firstReceivedAt: text,
      lastReceivedAt: text,
      gaps: list(gap),
      gapsDropped: { type: 'boolean' },
    }),
  ),
});

export type ReadCapsule = ReturnType<typeof readCapsule>;

/** Reads the JSON value of a capsule's data. FormatError for another shape. */
export function readCapsule(value: unknown) {
  const problem = schemaProblem(schema, value);
  if (problem !== null) throw new FormatError(problem);
  const data = value as CapsuleData;
  const parsed = parseFilterBody(data.search.filters);
  if (!('filter' in parsed)) throw new FormatError('the filters are not those of a search');
  const { from, to } = parsed.filter;
  if (from === undefined || to === undefined) throw new FormatError('the range has no limits');
  return { data, filter: { ...parsed.filter, from, to } };
}

/**
 * The file of an evidence capsule: an HTML page with two JSON texts in it. They are ASCII without
 * line breaks, because an HTML parser would replace other characters before anything checks them.
 */

const openings = {
  data: '<script type="application/json" id="data">',
  record: '<script type="application/json" id="record">',
};
const closing = '</script>';

/** The parts of a capsule, exactly as they stand in the file. */
export interface CapsuleParts {
  data: string;
  /** The proof of the event that recorded the capsule, with the SHA-256 of `data`. */
  record: string;
}

/** JSON text in the spelling of a capsule: ASCII, and no `<` that could end the element. */
export function capsuleJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^ -~]|</g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The page with the parts in the places that its template has for them. */
export function capsuleFile(template: string, parts: CapsuleParts): string {
  let html = template;
  for (const [name, opening] of Object.entries(openings)) {
    const at = html.indexOf(opening + closing) + opening.length;
    if (at < opening.length) throw new Error(`the template has no place for ${name}`);
    html = html.slice(0, at) + parts[name as keyof CapsuleParts] + html.slice(at);
  }
  return html;
}

/** The parts of a capsule's file; null for another file. */
export function capsuleParts(html: string): CapsuleParts | null {
  const part = (opening: string) => {
    const start = html.indexOf(opening) + opening.length;
    const end = html.indexOf(closing, start);
    return start < opening.length || end < 0 ? null : html.slice(start, end);
  };
  const [data, record] = [part(openings.data), part(openings.record)];
  return data === null || record === null ? null : { data, record };
}
