/**
 * Every filter of events. Query parameters, bodies, stored filters, SQL, command-line options, the
 * OpenAPI document and the panel derive from these two tables.
 */

import { categories } from '../event/catalogue-data.ts';
import type { ShownEvent } from '../event/committed-event.ts';
import { actorAddress, contextOf, outcomeOf, personKeys, targetKeys } from '../event/context.ts';
import { actorTypes, outcomes, type SegmentName } from '../event/event-fields.ts';
import { isUuid } from '../event/event-id.ts';
import { eventWords } from '../event/event-words.ts';
import {
  emailKey,
  isEmail,
  isExternalId,
  isLonger,
  isPrintable,
  isWord,
  wordForm,
} from '../event/field-rules.ts';
import { plainIp } from '../event/ip-address.ts';
import { correlationIdLengthMax, externalIdLengthMax, wordLengthMax } from '../event/limits.ts';
import { matchesWords, queryCharactersMax, queryWordsMax, wordsOf } from './words.ts';

/** A filter by values; each value is wanted or excluded. */
interface Facet {
  /** Describes a value, for the OpenAPI document and the help of the command line. */
  about: string;
  /** Completes the sentence "must be …". */
  expected: string;
  /** The canonical form of a valid value, or null. */
  normalise(text: string): string | null;
  /**
   * Columns of `audit_events`, or a condition of SQL. Of two, `uuid` is compared with UUIDs.
   */
  columns: { uuid?: string; text?: string; boolean?: string; list?: string };
  /**
   * The host's own ids are values too: those of actors, or of the one resource type that the filter
   * names. `resolvedFilter` replaces them.
   */
  external?: 'actor' | 'resource';
  /** Events may lack the value; an event without it matches every exclusion. */
  nullable?: true;
  /** The compared values of an event; null is no value. */
  of(event: ShownEvent): readonly (string | null)[];
  /** The segments that show whether an event has this value. */
  heldIn(value: string): readonly SegmentName[];
  /** Whether an event with these values has the wanted one; default: it is one of them. */
  has?(values: readonly (string | null)[], wanted: string, wordsOfQuery?: typeof wordsOf): boolean;
  /** An index returns each value in list order; the list uses the index with the lowest number. */
  selective?: number;
  /** Statistics can group by it. */
  counted?: true;
}

const word = {
  expected: `${wordForm}, of at most ${wordLengthMax} characters`,
  normalise: (text: string) => (isWord(text) ? text : null),
};

/** A UUID, or the host's own id in NFC. */
function idValue(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase();
  const ownId = text.normalize('NFC');
  return isExternalId(ownId) && !isLonger(ownId, externalIdLengthMax) ? ownId : null;
}

const oneOf = (values: readonly string[]) => ({
  expected: `one of ${values.join(', ')}`,
  normalise: (text: string) => (values.includes(text) ? text : null),
});

/** A trace id of W3C Trace Context. */
const traceIdForm = /^(?!0{32})[0-9a-f]{32}$/;

const person = {
  expected: "an actor's id (UUID), an own id of visible characters, or an e-mail address",
  normalise: personValue,
  external: 'actor',
} as const;

/** Stored filters and cursors depend on this order: add a new facet at the end. */
export const facets = {
  user: {
    about: 'actor id, own id of the host, or e-mail address in any case',
    ...person,
    columns: { uuid: 'actor_id', text: 'actor_email_key' },
    of: (event) => [event.actorId, actorAddress(event) || null],
    heldIn: (value) => [isUuid(value) ? 'event' : 'identity'],
    selective: 3,
    counted: true,
  },
  action: {
    about: 'action',
    ...word,
    columns: { text: 'action' },
    of: ({ action }) => [action],
    heldIn: () => ['event'],
    selective: 4,
    counted: true,
  },
  resource: {
    about: 'resource type',
    ...word,
    columns: { text: 'resource_type' },
    of: ({ resourceType }) => [resourceType],
    heldIn: () => ['event'],
    selective: 5,
    counted: true,
  },
  resourceId: {
    about: 'resource id; the own id of the host only beside exactly one `resource`',
    expected: 'a UUID, or an own id of visible characters',
    normalise: idValue,
    external: 'resource',
    columns: { uuid: 'resource_id' },
    of: ({ resourceId }) => [resourceId],
    heldIn: () => ['event'],
    selective: 2,
  },
  crossTenant: {
    about: 'whether an operator did it: `true` or `false`',
    ...oneOf(['true', 'false']),
    columns: { boolean: 'cross_tenant' },
    of: ({ crossTenant }) => [String(crossTenant)],
    heldIn: () => ['event'],
  },
  category: {
    about: `category: ${categories.join(', ')}`,
    ...oneOf(categories),
    columns: { text: 'category' },
    of: ({ category }) => [category],
    heldIn: () => ['event'],
    selective: 6,
    counted: true,
  },
  ip: {
    about: "actor's IP address",
    expected: 'an IP address',
    normalise: plainIp,
    columns: { text: 'actor_ip' },
    nullable: true,
    of: ({ actorIp }) => [actorIp],
    heldIn: () => ['identity'],
  },
  hasReason: {
    about: 'whether it has a declared reason: `true` or `false`',
    ...oneOf(['true', 'false']),
    columns: { boolean: '(reason IS NOT NULL)' },
    of: ({ reason }) => [String(reason !== null)],
    heldIn: () => ['change'],
  },
  outcome: {
    about: `outcome: ${outcomes.join(', ')}; an action that ends in \`failed\` is a failure`,
    ...oneOf(outcomes),
    // SQL for `outcomeOf`.
    columns: {
      text: "coalesce(outcome, CASE WHEN right(action, 7) IN ('_failed', '.failed') THEN 'failure' END)",
    },
    nullable: true,
    of: (event) => [outcomeOf(event)],
    heldIn: () => ['context'],
    counted: true,
  },
  actorType: {
    about: `kind of actor: ${actorTypes.join(', ')}`,
    ...oneOf(actorTypes),
    columns: { text: 'actor_type' },
    nullable: true,
    of: (event) => [contextOf(event).actor?.type ?? null],
    heldIn: () => ['context'],
    counted: true,
  },
  onBehalfOf: {
    about: 'for whom the actor acted: id, own id of the host, or e-mail address',
    ...person,
    columns: { list: 'on_behalf_of' },
    nullable: true,
    of: (event) => personKeys(event),
    heldIn: (value) => [isUuid(value) ? 'context' : 'identity'],
  },
  correlationId: {
    about: 'what the events of one request have in common',
    expected: 'a text of visible characters without a leading !',
    normalise: (text) =>
      isExternalId(text) && !isLonger(text, correlationIdLengthMax) ? text : null,
    columns: { text: 'correlation_id' },
    nullable: true,
    of: (event) => [contextOf(event).correlationId ?? null],
    heldIn: () => ['context'],
    selective: 1,
  },
  q: {
    about: 'words, all of them in one event, from three letters on also by their beginning',
    expected: `up to ${queryWordsMax} words of letters or digits, in ${queryCharactersMax} characters`,
    normalise: (text) => {
      const query = text.trim().replaceAll(/\s+/g, ' ');
      if (!isPrintable(query) || isLonger(query, queryCharactersMax)) return null;
      const words = wordsOf(query).length;
      return words > 0 && words <= queryWordsMax ? query : null;
    },
    columns: {}, // `findWords` of the service finds the events
    nullable: true,
    of: (event) => [...eventWords(event)].sort(),
    has: matchesWords,
    heldIn: () => ['change', 'context', 'event', 'identity'],
  },
  target: {
    about: 'further resource that the action concerned: id, or own id of the host',
    expected: 'a UUID, or an own id of visible characters',
    normalise: idValue,
    // SQL for `targetKeys`.
    columns: {
      list: `(SELECT array_agg(key) FROM (
        SELECT value->>'id' AS key FROM json_array_elements(context->'targets') UNION ALL
        SELECT normalize(value->>'externalId') FROM json_array_elements(context_identity->'targets')) keys)`,
    },
    nullable: true,
    of: (event) => targetKeys(event),
    heldIn: (value) => [isUuid(value) ? 'context' : 'identity'],
  },
  traceId: {
    about: 'W3C trace id',
    expected: '32 hexadecimal digits, not all of them 0',
    normalise: (text) => (traceIdForm.test(text.toLowerCase()) ? text.toLowerCase() : null),
    columns: { text: "(context->>'traceId')" },
    nullable: true,
    of: (event) => [contextOf(event).traceId ?? null],
    heldIn: () => ['context'],
  },
} as const satisfies Record<string, Facet>;

/** The limits of an event's time, and of the time at which the service took it. */
export const bounds = {
  from: { about: 'events from this time on: ISO 8601; a date alone means 00:00 UTC' },
  to: { about: 'events before this time', after: 'from' },
  receivedFrom: { about: 'events that the service received from this time on' },
  receivedTo: { about: 'events that the service received before this time', after: 'receivedFrom' },
} as const;

type Facets = typeof facets;
export type FacetName = keyof Facets;
export type BoundName = keyof typeof bounds;
export type FilterName = BoundName | FacetName;
type Having<Mark> = { [F in FacetName]: Facets[F] extends Mark ? F : never }[FacetName];
export type CountedFacet = Having<{ counted: true }>;

/** A facet with all optional members. */
export const facetOf = (name: FacetName): Facet => facets[name];

export const facetNames = Object.keys(facets) as FacetName[];
export const boundNames = Object.keys(bounds) as BoundName[];
/** The names of all filters in bodies. */
export const filterNames: readonly FilterName[] = [...boundNames, ...facetNames];
export const countedFacets = facetNames.filter(
  (name): name is CountedFacet => facetOf(name).counted === true,
);

/** The most values of one facet, wanted and excluded together. */
export const facetValuesMax = 20;

/** A description of the filter's value. */
export function aboutFilter(name: FilterName): string {
  return name in bounds ? bounds[name as BoundName].about : facets[name as FacetName].about;
}

/** A text with an `@` is an address, or one with a mistake in it. */
function personValue(text: string): string | null {
  if (!text.includes('@')) return idValue(text);
  // Checked after lowering, which can lengthen a text: a canonical value must itself be valid.
  const key = emailKey(text);
  return isEmail(key) ? key : null;
}
