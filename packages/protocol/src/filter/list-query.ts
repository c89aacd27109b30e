/** The parameters of `GET /api/audit-logs`, read strictly: a wrong one never widens the answer. */

import type { EventFilter } from './event-filter.ts';
import { filterNames } from './facets.ts';
import {
  oneOf,
  type ParamReader,
  paramOf,
  type QueryRefusal,
  readParams,
  wholeNumber,
} from './query-params.ts';
import { readFilterParams } from './read-filter.ts';

const listSorts = ['timestamp', 'user', 'sequence'] as const;
export type ListSort = (typeof listSorts)[number];
const listOrders = ['asc', 'desc'] as const;
export type ListOrder = (typeof listOrders)[number];

export const listLimitDefault = 50;
export const listLimitMax = 500;
/** The largest `page × limit`; deeper pages need cursors. */
const pagedEventsMax = 10_000;

/** What to list. `page` and `cursor` exclude each other; without both, the first page. */
export interface ListQuery {
  filter: EventFilter;
  sort: ListSort;
  order: ListOrder;
  limit: number;
  /** From 1. */
  page?: number;
  /** Opaque; the service that made it checks it. */
  cursor?: string;
  /** Only with `sort=sequence`: events whose sequence is greater. */
  afterSequence?: number;
  include: { total: boolean; state: boolean };
}

/** The parameters that make up a filter. */
export const filterParamNames: readonly string[] = filterNames.map(paramOf);

/** Every parameter of the list. */
export const listParamNames: readonly string[] = [
  ...filterParamNames,
  ...['page', 'cursor', 'limit', 'sort', 'order', 'after_sequence', 'include'],
];

/**
 * The query of decoded parameters (as `URLSearchParams` yields them), or all problems:
 * `unknown_parameter`, `invalid_parameter`, or `page_too_deep` if it is the only one.
 */
export function parseListQuery(
  params: Iterable<readonly [string, string]>,
): { query: ListQuery } | QueryRefusal {
  const reader = readParams(params, listParamNames);
  const include = reader.list('include', ['total', 'state'] as const);
  const query: ListQuery = {
    filter: readFilterParams(reader),
    ...readOrder(reader),
    ...readPosition(reader),
    include: { total: include.includes('total'), state: include.includes('state') },
  };
  refuseContradictions(query, reader);
  return reader.refusal() ?? { query };
}

/** Times are listed backwards unless said otherwise. */
export function readOrder(reader: ParamReader): Pick<ListQuery, 'sort' | 'order'> {
  const sort = reader.one('sort', `one of ${listSorts.join(', ')}`, oneOf(listSorts));
  const order = reader.one('order', 'asc or desc', oneOf(listOrders));
  const isByTime = (sort ?? 'timestamp') === 'timestamp';
  return { sort: sort ?? 'timestamp', order: order ?? (isByTime ? 'desc' : 'asc') };
}

type Position = Pick<ListQuery, 'limit' | 'page' | 'cursor' | 'afterSequence'>;

function readPosition(reader: ParamReader): Position {
  const limitRange = wholeNumber(1, listLimitMax);
  const limit = reader.one('limit', `a whole number from 1 to ${listLimitMax}`, limitRange);
  const position: Position = { limit: limit ?? listLimitDefault };
  const page = reader.one('page', 'a whole number from 1', wholeNumber(1, Infinity));
  const cursor = reader.one('cursor', 'a cursor', (text) => text);
  const sequenceRange = wholeNumber(0, Number.MAX_SAFE_INTEGER);
  const after = reader.one('after_sequence', 'a sequence, counted from 0', sequenceRange);
  if (page !== undefined) position.page = page;
  if (cursor !== undefined) position.cursor = cursor;
  if (after !== undefined) position.afterSequence = after;
  return position;
}

function refuseContradictions(query: ListQuery, reader: ParamReader): void {
  const { page, cursor, limit, sort, afterSequence, filter, include } = query;
  if (page !== undefined && cursor !== undefined) {
    reader.refuse('page', 'cannot be combined with cursor');
  }
  if (page !== undefined && sort === 'sequence') {
    reader.refuse('page', 'cannot be combined with sort=sequence; use after_sequence or cursor');
  }
  if (page !== undefined && page * limit > pagedEventsMax) {
    const message = `times limit must not exceed ${pagedEventsMax}; use cursor with nextCursor instead`;
    reader.refuse('page', message, 'page_too_deep');
  }
  if (afterSequence !== undefined && sort !== 'sequence') {
    reader.refuse('after_sequence', 'needs sort=sequence');
  }
  if (include.state && filter.resourceId?.any.length !== 1) {
    reader.refuse('include', 'with state needs exactly one resource_id');
  }
}
