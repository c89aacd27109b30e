import {
  type EventFilter,
  type FacetName,
  facetNames,
  facetOf,
  firstUuidAt,
  type ListQuery,
} from '@indelible/protocol';
import {
  arrayOf,
  byColumn,
  type ColumnValues,
  matching,
  noneOf,
  type Params,
  type SqlFilter,
  shownIn,
  shownParts,
  type Visibility,
} from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import { afterAll } from './portions.ts';

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
  const facet = mostSelective(filter);
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

/** Matches in order, up to `limit` of each branch. */
export function ordered(wanted: Ordered): string {
  const { filter, order } = wanted;
  return `SELECT ${distinctOn(filter, order)} * FROM (${branchesOf(wanted)}) b ORDER BY ${order}`;
}

/** The matches in the order of their times, as the source of another statement. */
export function inOrder(
  order: 'id' | 'id DESC',
  filter: SqlFilter,
  visible: Visibility,
  conditions: readonly string[],
  limit: string,
  params: Params,
): string {
  const wanted: Ordered = { columns: '*', order, filter, visible, conditions, limit, params };
  return distinctOn(filter, order) ? ordered(wanted) : branchesOf(wanted);
}

function branchesOf(wanted: Ordered): string {
  const { columns, order, filter, visible, limit, params } = wanted;
  const conditions = [
    ...matching(visible.tx, filter, params, leadFacet(filter)),
    ...wanted.conditions,
  ];
  const branch = (where: readonly string[]) =>
    `(SELECT ${columns} FROM audit_events WHERE ${where.join(' AND ')} ORDER BY ${order} LIMIT ${limit})`;
  return branches(filter, visible, conditions, branch, params, columns !== '*');
}

/** The conditions for a page behind this position. */
export function behind(
  position: ListPosition | null,
  { sort, filter }: SortedList,
  descending: boolean,
  params: Params,
): string[] {
  if (sort === 'user' && position === null) return [];
  const sign = descending ? '<' : '>';
  // Also on the first page, so that it shares the plan of the next ones.
  const id = `${params.bound(position?.uuid ?? (descending ? afterAll : firstUuidAt(0)))}::uuid`;
  if (sort !== 'user' || position === null) return [`id ${sign} ${id}`];
  return [`(${addressIn(filter)}, id) ${sign} (${params.add(position.emailKey)}::text, ${id})`];
}

/** The most selective filter with values. */
export const mostSelective = (filter: EventFilter): FacetName | undefined =>
  leads.find((facet) => (filter[facet]?.any.length ?? 0) > 0);

/** The same, if it has several. */
function leadFacet(filter: EventFilter): FacetName | undefined {
  const first = mostSelective(filter);
  return first && (filter[first]?.any.length ?? 0) > 1 ? first : undefined;
}

const rank = (facet: FacetName) => facetOf(facet).selective ?? 0;
const leads = facetNames.filter((facet) => rank(facet) > 0).sort((a, b) => rank(a) - rank(b));

/**
 * The ordered branches of a filter. A few values of its leading facet have a branch each, which
 * PostgreSQL merges; more of them share one by a lateral join, and what they find is sorted.
 */
function branches(
  filter: SqlFilter,
  visible: Visibility,
  conditions: readonly string[],
  branch: (where: readonly string[]) => string,
  params: Params,
  isKeys: boolean,
): string {
  const classes = visible.classes.flatMap((each) =>
    isKeys ? shownParts(each, filter, visible, params) : [shownIn([each], filter, visible, params)],
  );
  const ofEachClass = (more: readonly string[]) =>
    classes.map((shown) => branch([...conditions, ...shown, ...more])).join(' UNION ALL ');
  const lead = leadFacet(filter);
  if (!lead) return ofEachClass([]);
  const { any = [], none = [] } = filter[lead] ?? {};
  const excluded = none.length > 0 ? [noneOf(lead, none, params)] : [];
  const ofEachValue = ({ column, values }: ColumnValues) =>
    values
      .map((value) => ofEachClass([`${column} = ${params.add(value)}`, ...excluded]))
      .join(' UNION ALL ');
  const ofAllValues = (part: ColumnValues) => {
    const perValue = ofEachClass([`${part.column} = wanted.value`, ...excluded]);
    const values = arrayOf(part, params);
    return `(SELECT e.* FROM unnest(${values}) AS wanted (value), LATERAL (${perValue}) e)`;
  };
  return byColumn(lead, any)
    .map(any.length > mergedMax ? ofAllValues : ofEachValue)
    .join(' UNION ALL ');
}

/** Each branch takes memory and planning in every partition. */
const mergedMax = 4;

/** An event whose actor matches by id and by e-mail comes from two branches. */
function distinctOn(filter: EventFilter, order: string): string {
  const lead = leadFacet(filter);
  const columns = lead ? byColumn(lead, filter[lead]?.any ?? []).length : 1;
  return columns > 1 ? `DISTINCT ON (${order.replaceAll(/ (ASC|DESC)/g, '')})` : '';
}
