import { listLimitDefault, listLimitMax } from '@indelible/protocol';
import { operatorHeaders } from '../access/operator-access.ts';
import { FullEvent, ListedEvent } from '../events/schemas.ts';
import { described, exact, idParams, named, nullable, queryText } from '../http/field-schemas.ts';
import { filterParams } from '../http/filter-schema.ts';
import { Type } from '../http/type.ts';

/*
 * Parameters and answers of the reading calls, for the OpenAPI document. `parseListQuery` and
 * `parseStatsQuery`, shared with panel and command line, check them.
 */

const listQuerystring = Type.Object({
  ...filterParams,
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'From 1; `page` × `limit` at most 10,000; beyond that use `cursor`.',
    }),
  ),
  cursor: Type.Optional(queryText('From `nextCursor` or `previousCursor`, unchanged.')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: listLimitMax,
      default: listLimitDefault,
      description: 'Events a page holds at most.',
    }),
  ),
  sort: Type.Optional(
    Type.Enum(['timestamp', 'user', 'sequence'], {
      description: 'By time (the default), by e-mail and then time, or in the order of the log.',
    }),
  ),
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], {
      description: 'Default: `desc` by timestamp, `asc` by user and sequence.',
    }),
  ),
  after_sequence: Type.Optional(
    Type.Integer({ minimum: 0, description: 'With `sort=sequence`, for polling.' }),
  ),
  include: Type.Optional(
    Type.Array(Type.Enum(['total', 'state']), {
      maxItems: 2,
      description: '`state` needs exactly one `resource_id`.',
    }),
  ),
});

const cursor = nullable({});

const EventPagination = named('EventPagination', {
  limit: Type.Integer(),
  page: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
  hasMore: Type.Boolean(),
  nextCursor: cursor,
  previousCursor: cursor,
  total: Type.Optional(exact({ value: Type.Integer(), relation: Type.Enum(['eq', 'gte']) })),
});

const EventPage = described('EventPage', 'One page of events.', {
  data: Type.Array(ListedEvent),
  pagination: EventPagination,
});

const tags = ['Events'];

export const listSchema = {
  tags,
  operationId: 'listEvents',
  summary: 'List events',
  description:
    'Newest first. Every filter may be repeated (any of up to 20 values); a leading `!` excludes. A page ' +
    'ends at its limit or at 8 MiB; `nextCursor` leads on. Unknown parameters are refused, so that a ' +
    'misspelt filter never widens the answer.',
  querystring: listQuerystring,
  headers: operatorHeaders,
  response: { 200: EventPage },
};

export const eventSchema = {
  tags,
  operationId: 'getEvent',
  summary: 'Read one event, with its states',
  description: 'An event of another tenant is answered like one that does not exist: `404`.',
  params: idParams('`evt_audit_…`'),
  headers: operatorHeaders,
  response: { 200: FullEvent },
};
