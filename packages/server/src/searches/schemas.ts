import { namedFilters } from '@indelible/protocol';
import {
  answer,
  described,
  exact,
  idWith,
  named,
  nullable,
  time,
  uuid,
} from '../http/field-schemas.ts';
import { filterSchema, storedFilters } from '../http/filter-schema.ts';
import { pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';
import { SourceGap } from '../sources/schemas.ts';

const noteMax = 1_000;

const SearchInput = named('SearchInput', {
  filters: filterSchema('EventFilters'),
  note: Type.Optional(
    nullable({
      maxLength: noteMax,
      pattern: '^(?:[^\\p{Cc}\\p{Cs}]|\\n)*$',
      description: 'What it is to show, in your own words.',
    }),
  ),
  unknown: Type.Optional(
    Type.Boolean({
      description:
        'Also save a search for a person or resource that occurs in no event. Default: it is refused.',
    }),
  ),
});

const values = Type.Optional(Type.Array(Type.String()));
const UnknownValues = {
  title: 'UnknownValues',
  description:
    'Persons and resources of the query that occurred in no event when it was saved: of them it ' +
    'proves nothing. In the list `null` for a search of an earlier build; opened, it is judged anew.',
  properties: Object.fromEntries(namedFilters.map((name) => [name, values])),
  additionalProperties: false,
};

const Digest = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description:
    'SHA-256 over the ids of the matches, newest first, joined by line feeds, none at the end.',
});
const Matched = exact({ value: Type.Integer({ minimum: 0 }) });
const Checkpoint = Type.Unsafe<object | null>({
  title: 'SearchCheckpoint',
  type: ['object', 'null'],
  properties: {
    size: { type: 'integer', minimum: 1 },
    rootHash: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    note: { type: 'string', description: 'The signed note.' },
  },
  required: ['size', 'rootHash', 'note'],
  additionalProperties: false,
});

const saved = {
  id: idWith('srch_'),
  url: Type.String({ description: 'The page that shows it.' }),
  filters: storedFilters({
    description: 'With an absolute range, within what the plan showed.',
  }),
  note: nullable({}),
  unknownValues: Type.Unsafe<object | null>({ type: ['object', 'null'], ...UnknownValues }),
  createdAt: time('When it was saved.'),
  createdBy: exact({ id: uuid('Who saved it.'), email: nullable({}) }),
  checkpoint: Checkpoint,
  matched: Matched,
  digest: Digest,
};

const SavedSearch = described('SavedSearch', 'The search as it was saved.', saved);

const CoveredSource = described('CoveredSource', 'A source that numbered its events.', {
  id: Type.String({ description: 'The `source.id` of its events.' }),
  firstReceivedAt: time('When its first event was received.'),
  lastReceivedAt: time('When its last event was received: later ones are not covered.'),
  gaps: Type.Array(SourceGap, { description: 'What was not received in the range.' }),
  gapsDropped: Type.Boolean({ description: 'Whether gaps may be missing from the list.' }),
});

const CountOrMore = exact(
  { value: Type.Integer({ minimum: 0 }), relation: Type.Enum(['eq', 'gte']) },
  '`gte`: at least so many; counted to 10,000.',
);

const Coverage = described(
  'Coverage',
  'What the search could find at all: `eventsInRange` are all events of its time range, whatever the other filters are.',
  {
    logBeganAt: time('When the first entry of the log was received.'),
    shownFrom: time('The plan shows events that happened or were received since.'),
    eventsInRange: CountOrMore,
    totals: Type.Array(
      exact({
        filter: Type.Enum([...namedFilters]),
        value: Type.String(),
        events: CountOrMore,
      }),
      {
        description: 'For each person and resource that the filters name: its events at any time.',
      },
    ),
  },
);

const Now = exact({
  matched: Matched,
  digest: Digest,
  agrees: Type.Boolean({ description: 'Whether the answer is the same today.' }),
  earlierAgrees: Type.Boolean({
    description: 'Whether the events that the saved checkpoint covers give the same answer.',
  }),
  recordedSince: exact(
    { value: Type.Integer({ minimum: 0 }) },
    'Matches recorded after the saved checkpoint.',
  ),
  bodiesExpired: Type.Boolean({
    description: 'Whether events of the range have left the plan since.',
  }),
  erasedSince: Type.Boolean({
    description:
      'Whether an erasure, which the log records, has since emptied what the query compares.',
  }),
  checkpoint: Checkpoint,
  coverage: Coverage,
  sources: Type.Array(CoveredSource, {
    maxItems: 500,
    description:
      'The sources that numbered their events in the range. Other producers are not covered.',
  }),
});

const OpenedSearch = described('OpenedSearch', 'The search, and its answer of this moment.', {
  ...saved,
  now: Now,
});

export const createSchema = {
  reads: 'search' as const,
  operationId: 'createSearch',
  summary: 'Save a search as evidence',
  description:
    'Freezes the question (an absolute range, within what the plan shows and not beyond now), asks it ' +
    'against a signed checkpoint, and keeps count and digest of the answer. Recorded. At most 1,000,000 ' +
    'matches. A `user`, `onBehalfOf`, `resource`, `resourceId` or `target` that occurs in no event which the plan ' +
    'shows, at any time, is refused with `unknown_value` at its path, unless `unknown` is `true`; a value ' +
    'that `!` excludes is not.',
  body: SearchInput,
  response: { 201: SavedSearch },
};

export const getSchema = {
  reads: 'search' as const,
  operationId: 'getSearch',
  summary: 'A saved search, asked again',
  description: '`now` is the answer of this moment, against a fresh checkpoint.',
  response: { 200: OpenedSearch },
};

export const capsuleSchema = {
  reads: 'search' as const,
  operationId: 'makeCapsule',
  'x-refuses': [409],
  summary: 'A saved search as a file that verifies itself',
  description:
    'An HTML page that needs no network: the search, the events of its time range with their salts, the ' +
    'log entries up to its checkpoint, the signature, and a verifier. Recorded with the SHA-256 of its ' +
    'data. At most 20,000 events in the range, 100,000 log entries since it began, and 32 MiB of events.',
  response: { 200: answer('The file.', ['text/html', Type.String()]) },
};

export const listSchema = {
  operationId: 'listSearches',
  summary: 'Saved searches, newest first',
  description: 'As they were saved: their questions are not asked again.',
  response: {
    200: pageOf('SavedSearchPage', SavedSearch, 'One page of searches, newest first.'),
  },
};
