import {
  type EventFilter,
  type FacetName,
  facetNames,
  facetOf,
  firstUuidAt,
  type ListQuery,
} from '@indelible/protocol';
import type pg from 'pg';
import { type TenantTx, uuidArray } from '../postgres/index.ts';
import { amongWithWords } from '../words/index.ts';
import { behindCounted, countMatching } from './count.store.ts';
import { copiesSelected, storedColumns } from './event-columns.store.ts';
import {
  allMatching,
  arrayOf,
  byColumn,
  type ColumnValues,
  matching,
  noneOf,
  Params,
  type SqlFilter,
  shownIn,
  shownParts,
  type Visibility,
} from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import { type CutPage, type ListedPage, type ListedRow, pageBytesMax } from './listed-row.ts';
import {
  coldRangeOf,
  isAheadOfCold,
  isBeforeCold,
  positionAt,
  positionBehind,
  type WantedPage,
  withCold,
  withColdById,
} from './merge-cold.store.ts';
import {
  afterAll,
  inOneStatement,
  nearFirst,
  portions,
  restOfUser,
  widerAndWider,
} from './portions.ts';
import { prepared } from './prepared-statement.ts';

/**
 * One page in list order. Each retention class, and each value of the leading filter, is a separate
 * branch of a statement that an index returns in order: `= ANY` over several would sort all
 * matches.
 */
export async function listEvents(
  tx: TenantTx,
  query: ListQuery,
  visible: Visibility,
  cursor: ListPosition | null,
): Promise<ListedPage> {
  const backwards = cursor?.direction === 'previous';
  const descending = (query.order === 'desc') !== backwards;
  const skip = ((query.page ?? 1) - 1) * query.limit;
  let position = skip > 0 ? await positionAfter(tx, query, visible, descending, skip) : cursor;
  if (skip > 0 && position === null) return { rows: [], more: false };
  const rows: ListedRow[] = [];
  let [more, bytes] = [false, 0];
  for await (const filter of await partsOf(tx, query, visible, position, descending)) {
    // Of a list by user a part has the events of one user.
    const sort = filter.isPart ? 'timestamp' : query.sort;
    // One more than wanted: the next part may have no match.
    const part = { ...query, sort, filter, limit: query.limit + 1 - rows.length };
    const wanted = { query: part, position, descending, bytesMax: pageBytesMax - bytes };
    const page = await nextInOrder(tx, visible, wanted);
    rows.push(...page.rows);
    bytes += page.bytes;
    more = page.more || rows.length > query.limit;
    if (more) break;
    const last = rows.at(-1);
    if (last) position = positionAt(last);
  }
  const shown = rows.slice(0, query.limit);
  return { rows: backwards ? shown.reverse() : shown, more };
}

/** Parts follow the ids; a page in another order needs all matches at once. */
async function partsOf(
  tx: TenantTx,
  { filter, sort }: ListQuery,
  visible: Visibility,
  position: ListPosition | null,
  descending: boolean,
): Promise<AsyncIterable<SqlFilter> | readonly SqlFilter[]> {
  if (sort === 'user') {
    const rest = restOfUser(filter, visible, position, descending);
    return [...rest, await inOneStatement(tx, filter, visible)];
  }
  if (filter.q === undefined) return nearFirst(filter, visible, position, descending);
  const bound = position ? { [descending ? 'before' : 'from']: position.uuid } : {};
  return portions(tx, filter, visible, { ...bound, ascending: !descending });
}

/** The position behind the first `skip` events; null: there are no more. */
async function positionAfter(
  tx: TenantTx,
  query: ListQuery,
  visible: Visibility,
  descending: boolean,
  skip: number,
): Promise<ListPosition | null> {
  if (query.sort === 'user') {
    const filter = await inOneStatement(tx, query.filter, visible);
    return keyAt(tx, { ...query, filter }, visible, descending, skip);
  }
  if (query.filter.q === undefined) {
    const rest = await behindCounted(tx, query.filter, visible, descending, skip);
    const key = { skip: rest.skip - 1, limit: 1 };
    const whole = keysStatement(tx, { ...query, filter: rest.filter }, visible, descending, key);
    const isPlanned = whole.name !== undefined;
    const filters = isPlanned ? [rest.filter] : widerAndWider(rest.filter, visible, descending);
    for (const filter of filters) {
      const position = await keyAt(tx, { ...query, filter }, visible, descending, rest.skip);
      if (position !== null) return position;
    }
    return null;
  }
  let left = skip;
  for await (const filter of portions(tx, query.filter, visible, { ascending: !descending })) {
    const found = await countMatching(tx, filter, visible, left);
    if (found === left) return keyAt(tx, { ...query, filter }, visible, descending, left);
    left -= found;
  }
  return null;
}

type PartOfList = ListQuery & { filter: SqlFilter };

/** The position of the nth event of one statement and the archive. */
async function keyAt(
  tx: TenantTx,
  query: PartOfList,
  visible: Visibility,
  descending: boolean,
  nth: number,
): Promise<ListPosition | null> {
  const [key] = await keysInOrder(tx, query, visible, descending, { skip: nth - 1, limit: 1 });
  const wanted: WantedPage = { query, descending, position: null, bytesMax: pageBytesMax };
  const range = coldRangeOf(visible, wanted);
  if (range === null || (key !== undefined && isAheadOfCold(key, wanted, range)))
    return key === undefined ? null : positionAt(key);
  const keys = await keysInOrder(tx, query, visible, descending, { skip: 0, limit: nth });
  return positionBehind(tx, visible, wanted, range, keys, nth);
}

/** A page of one statement, and of the archive if it reaches that far back. */
async function nextInOrder(
  tx: TenantTx,
  visible: Visibility,
  wanted: WantedPage,
): Promise<CutPage> {
  const { query, position, descending, bytesMax } = wanted;
  const params = new Params();
  const order = orderBy(query.sort, descending);
  const conditions = matching(tx, query.filter, params, leadFacet(query.filter));
  conditions.push(...behind(position, query.sort, descending, params));
  const limit = params.add(query.limit + 1);
  const { filter } = query;
  const source = ordered({ columns: '*', order, filter, visible, conditions, limit, params });
  const page = `${source} LIMIT ${limit}`;
  const hot = await cutPage(tx, query, page, order, params, bytesMax);
  const range = coldRangeOf(visible, wanted);
  return range === null || isBeforeCold(hot, wanted, range)
    ? hot
    : withCold(tx, visible, wanted, range, hot);
}

/** Keys of events in PostgreSQL. */
async function keysInOrder(
  ...asked: Parameters<typeof keysStatement>
): Promise<{ uuid: string; emailKey: string }[]> {
  const [tx] = asked;
  const { rows } = await tx.query<{ uuid: string; emailKey: string }>(keysStatement(...asked));
  return rows;
}

/** Indexes have these columns, so what is skipped is not read. */
function keysStatement(
  tx: TenantTx,
  { filter, sort }: PartOfList,
  visible: Visibility,
  descending: boolean,
  { skip, limit }: { skip: number; limit: number },
): pg.QueryConfig {
  const params = new Params();
  const order = orderBy(sort, descending);
  const conditions = matching(tx, filter, params, leadFacet(filter));
  const columns = sort === 'user' ? 'id, actor_email_key' : 'id';
  const emailKey = sort === 'user' ? 'actor_email_key' : `''`;
  const source = ordered({
    ...{ columns, order, filter, visible, conditions, params },
    limit: params.add(skip + limit),
  });
  return prepared(
    `SELECT id AS uuid, ${emailKey} AS "emailKey"
     FROM (${source} OFFSET ${params.add(skip)} LIMIT ${params.add(limit)}) k`,
    params,
  );
}

function orderBy(sort: ListQuery['sort'], descending: boolean): string {
  const way = descending ? 'DESC' : 'ASC';
  return sort === 'user' ? `actor_email_key ${way}, id ${way}` : `id ${way}`;
}

/**
 * The matches in the order of their times, as the source of another statement: one ordered branch
 * for each class and value, as for a page. `conditions` are added; `limit` is the placeholder of
 * the number of rows.
 */
export function inOrder(
  order: 'id' | 'id DESC',
  tx: TenantTx,
  filter: SqlFilter,
  visible: Visibility,
  conditions: readonly string[],
  limit: string,
  params: Params,
): string {
  const all = [...matching(tx, filter, params, leadFacet(filter)), ...conditions];
  const wanted: Branches = { columns: '*', order, filter, visible, conditions: all, limit, params };
  return distinctOn(filter, order) ? ordered(wanted) : branchesOf(wanted);
}

interface Branches {
  columns: string;
  order: string;
  filter: SqlFilter;
  visible: Visibility;
  conditions: readonly string[];
  limit: string;
  params: Params;
}

/** Matches in order, up to `limit` of each branch. */
const ordered = (wanted: Branches) =>
  `SELECT ${distinctOn(wanted.filter, wanted.order)} * FROM (${branchesOf(wanted)}) b ORDER BY ${wanted.order}`;

function branchesOf(wanted: Branches): string {
  const { columns, order, filter, visible, conditions, limit, params } = wanted;
  const branch = (where: readonly string[]) =>
    `(SELECT ${columns} FROM audit_events WHERE ${where.join(' AND ')} ORDER BY ${order} LIMIT ${limit})`;
  return branches(filter, visible, conditions, branch, params, columns !== '*');
}

function behind(
  position: ListPosition | null,
  sort: ListQuery['sort'],
  descending: boolean,
  params: Params,
): string[] {
  if (sort === 'user' && position === null) return [];
  const sign = descending ? '<' : '>';
  // Also on the first page, so that it shares the plan of the next ones.
  const id = `${params.bound(position?.uuid ?? (descending ? afterAll : firstUuidAt(0)))}::uuid`;
  if (sort !== 'user' || position === null) return [`id ${sign} ${id}`];
  return [`(actor_email_key, id) ${sign} (${params.add(position.emailKey)}::text, ${id})`];
}

/** The most selective filter with values. */
function leadFacet(filter: EventFilter): FacetName | undefined {
  const first = leads.find((facet) => (filter[facet]?.any.length ?? 0) > 0);
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

/**
 * The rows of `page` (a statement with one row more than the limit) in this order, as many as fit
 * into `bytesMax`, but at least one: a larger event must not block the list.
 */
async function cutPage(
  tx: TenantTx,
  { include, limit }: Pick<ListQuery, 'include' | 'limit'>,
  page: string,
  order: string,
  params: Params,
  bytesMax: number,
): Promise<CutPage> {
  const states = include.state ? ['before::text', 'after::text'] : [];
  const sizes = ['diff::text', 'reason', 'actor_user_agent', 'resource_name', ...states];
  const size = sizes.map((text) => `coalesce(octet_length(${text}), 0)`).join(' + ');
  const { rows } = await tx.query<ListedRow & { found: number; bytes: number }>(
    prepared(
      `SELECT ${storedColumns}, ${listColumns(include.state)}, found, bytes
       FROM (SELECT *, count(*) OVER () AS found, row_number() OVER (ORDER BY ${order}) AS nth,
           sum(1024 + ${size}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS bytes
         FROM (${page}) p) w
       WHERE bytes <= ${params.add(bytesMax)} OR nth = 1
       ORDER BY ${order} LIMIT ${params.add(limit)}`,
      params,
    ),
  );
  return { rows, more: (rows[0]?.found ?? 0) > rows.length, bytes: rows.at(-1)?.bytes ?? 0 };
}

const listColumns = (withStates: boolean) =>
  `actor_email_key AS "emailKey", (before IS NOT NULL OR after IS NOT NULL OR (erased->>'state') IS NOT NULL) AS "hasState",
   ${withStates ? `before, after, ${copiesSelected}` : 'NULL AS before, NULL AS after'}`;

/** The events of these ids that match the filter, by sequence; limited like any page. */
export async function eventsById(
  tx: TenantTx,
  uuids: readonly string[],
  query: ListQuery,
  visible: Visibility,
  bytesMax: number,
): Promise<CutPage> {
  const params = new Params();
  const { q, ...filter } = query.filter;
  const wanted = q === undefined ? uuids : await amongWithWords(tx, uuids, q);
  const conditions = [
    ...allMatching(tx, filter, visible, params),
    `id = ANY (${params.add(uuidArray(wanted))}::uuid[])`,
  ];
  const order = query.order === 'asc' ? 'sequence' : 'sequence DESC';
  const page = `SELECT * FROM audit_events WHERE ${conditions.join(' AND ')}
    ORDER BY ${order} LIMIT ${params.add(query.limit + 1)}`;
  const hot = await cutPage(tx, query, page, order, params, bytesMax);
  const descending = query.order === 'desc';
  return withColdById(tx, visible, uuids, { query, descending, bytesMax }, hot);
}
