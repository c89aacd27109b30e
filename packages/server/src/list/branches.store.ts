import {
  type EventFilter,
  type FacetName,
  facetNames,
  facetOf,
  firstUuidAt,
  type ListQuery,
} from '@indelible/protocol';
import {
  anyOf,
  arrayOf,
  byColumn,
  type ColumnValues,
  matching,
  noneOf,
  type Params,
  type SqlFilter,
  shownEither,
  shownIn,
  type Visibility,
} from '../events/filter-sql.store.ts';
import { afterAll } from '../events/portions.ts';
import type { ListPosition } from './list-cursor.ts';

/* Each retention class, and each value of the leading filter, is a separate branch of a statement
 * that an index returns in order: `= ANY` over several would sort all matches. */

type SortedList = Pick<ListQuery, 'sort' | 'filter'>;

export function orderBy({ sort, filter }: SortedList, descending: boolean): string {
  const way = descending ? 'DESC' : 'ASC';
  return sort === 'user' ? `${addressIn(filter)} ${way}, id ${way}` : `id ${way}`;
}

/**
 * The column of addresses for a list in their order. Where another index finds the matches, an
 * expression keeps PostgreSQL from walking through all events in the order of addresses.
 */
function addressIn(filter: EventFilter): string {
  const facet = leadOf(filter);
  const isFound = facet !== undefined && rank(facet) <= rank('user');
  return isFound ? `(actor_email_key || '')` : 'actor_email_key';
}

export interface Ordered {
  columns: string;
  order: string;
  filter: SqlFilter;
  visible: Visibility;
  /** Besides those of the filter. */
  conditions: readonly string[];
  /** The placeholder of the number of rows. */
  limit: string;
  params: Params;
}

/** The statement of the matches in order, up to `limit` of them. */
export const ordered = (wanted: Ordered): string =>
  `SELECT * FROM (${branches(wanted)}) b ORDER BY ${wanted.order} LIMIT ${wanted.limit}`;

/** The matches in the order of their times, as the source of another statement. */
export function inOrder(
  order: 'id' | 'id DESC',
  filter: SqlFilter,
  visible: Visibility,
  conditions: readonly string[],
  limit: string,
  params: Params,
): string {
  return branches({ columns: '*', order, filter, visible, conditions, limit, params });
}

/** The condition for a page behind this position; null: at the beginning. */
export function behind(
  position: ListPosition | null,
  { sort, filter }: SortedList,
  descending: boolean,
  params: Params,
): string[] {
  if (position === null && sort === 'user') return [];
  const sign = descending ? '<' : '>';
  // Also on the first page, so that it shares the plan of the next ones.
  const id = `${params.add(position?.uuid ?? (descending ? afterAll : firstUuidAt(0)))}::uuid`;
  if (sort !== 'user' || position === null) return [`id ${sign} ${id}`];
  return [`(${addressIn(filter)}, id) ${sign} (${params.add(position.emailKey)}::text, ${id})`];
}

/** The most selective filter with values: its index finds the matches. */
const leadOf = (filter: EventFilter): FacetName | undefined =>
  leads.find((facet) => (filter[facet]?.any.length ?? 0) > 0);

const rank = (facet: FacetName) => facetOf(facet).selective ?? 0;
const leads = facetNames.filter((facet) => rank(facet) > 0).sort((a, b) => rank(a) - rank(b));

/**
 * The branches of a statement, each with up to `limit` matches. A few values of the leading filter
 * have branches of their own, which PostgreSQL merges; more of them share one by a lateral join,
 * and what they find is sorted.
 */
function branches({ columns, order, filter, visible, limit, params, ...more }: Ordered): string {
  const lead = leadOf(filter);
  const { any = [], none = [] } = (lead && filter[lead]) ?? {};
  const conditions = [...matching(visible.tx, filter, params, lead), ...more.conditions];
  if (lead && none.length > 0) conditions.push(noneOf(lead, none, params));
  const shown = visible.classes.flatMap((each) =>
    columns === '*'
      ? [shownIn([each], filter, visible, params)]
      : shownEither(each, filter, visible, params),
  );
  const ofEachClass = (own: readonly string[]) =>
    shown
      .map((shown) => [...conditions, ...shown, ...own].join(' AND '))
      .map((where) => `(SELECT ${columns} FROM audit_events WHERE ${where} ${inThisOrder})`)
      .join(' UNION ALL ');
  const inThisOrder = `ORDER BY ${order} LIMIT ${limit}`;
  if (!lead) return ofEachClass([]);
  const ofValues = (some: ColumnValues, at: number, all: readonly ColumnValues[]) => {
    // An event that matches by id and by address comes from the branch of the id only.
    const others = all.slice(0, at).map(({ values }) => `NOT ${anyOf(lead, values, params)}`);
    const isValue = (value: string) => ofEachClass([`${some.column} = ${value}`, ...others]);
    if (any.length <= mergedMax)
      return some.values.map((value) => isValue(params.add(value))).join(' UNION ALL ');
    const values = arrayOf(some, params);
    return `(SELECT e.* FROM unnest(${values}) AS wanted (value), LATERAL (${isValue('wanted.value')}) e)`;
  };
  return byColumn(lead, any).map(ofValues).join(' UNION ALL ');
}

/** Each branch takes memory and planning in every partition. */
const mergedMax = 4;
