import type { ListQuery } from '@indelible/protocol';
import {
  allMatching,
  Params,
  rowsWith,
  type SqlFilter,
  type Visibility,
} from '../events/filter-sql.store.ts';
import {
  type CutPage,
  type ListedPage,
  type ListedRow,
  pageBytesMax,
} from '../events/listed-row.ts';
import { inOneStatement, portions } from '../events/portions.ts';
import { copiesSelected, longBytes, storedColumns } from '../events/read-columns.store.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import type { TenantTx } from '../postgres/tenant-tx.ts';
import { amongWithWords } from '../words/find-words.ts';
import { behind, orderBy, ordered } from './branches.store.ts';
import type { ListPosition } from './list-cursor.ts';

/** A list in the order of the log, without totals and states. */
const noMore = { total: false, state: false };
export const inSequence = { sort: 'sequence', order: 'asc', include: noMore } as const;

/** A list in one direction. */
interface Way {
  query: ListQuery;
  visible: Visibility;
  descending: boolean;
}

/** One page in list order. */
export async function listEvents(
  query: ListQuery,
  visible: Visibility,
  cursor: ListPosition | null,
): Promise<ListedPage> {
  const backwards = cursor?.direction === 'previous';
  const descending = (query.order === 'desc') !== backwards;
  const way = { query, visible, descending };
  const skip = ((query.page ?? 1) - 1) * query.limit;
  const position = skip > 0 ? await positionAfter(skip, way) : cursor;
  if (skip > 0 && position === null) return { rows: [], more: false };
  const rows: ListedRow[] = [];
  let [more, bytes] = [false, 0];
  for await (const filter of portionsOf(way, position)) {
    // One more than wanted: the next portion may have no match.
    const limit = query.limit + 1 - rows.length;
    const page = await nextRows(filter, limit, pageBytesMax - bytes, way, position);
    // The only event of a portion may be larger than the room left: it begins the next page.
    more = rows.length > 0 && bytes + page.bytes > pageBytesMax;
    if (more) break;
    rows.push(...page.rows);
    bytes += page.bytes;
    more = page.more || rows.length > query.limit;
    if (more) break;
  }
  const shown = rows.slice(0, query.limit);
  return { rows: backwards ? shown.reverse() : shown, more };
}

/** Portions follow the ids; a list in another order is one statement. */
async function* portionsOf(
  { query: { filter, sort }, visible, descending }: Way,
  position: ListPosition | null,
): AsyncGenerator<SqlFilter> {
  if (sort === 'user') yield await inOneStatement(filter, visible);
  else {
    const bound = position ? { [descending ? 'before' : 'from']: position.uuid } : {};
    yield* portions(filter, visible, { ...bound, ascending: !descending });
  }
}

/** The position behind the first `skip` events; null: there are no more. */
async function positionAfter(skip: number, way: Way): Promise<ListPosition | null> {
  let left = skip;
  for await (const filter of portionsOf(way, null)) {
    const keys = await nextKeys(filter, left, way);
    const last = keys[left - 1];
    if (last) return { direction: 'next', sequence: 0, ...last };
    left -= keys.length;
  }
  return null;
}

/** The keys of the first matches of one statement. */
async function nextKeys(
  filter: SqlFilter,
  count: number,
  { query, visible, descending }: Way,
): Promise<Pick<ListPosition, 'uuid' | 'emailKey'>[]> {
  const params = new Params();
  const limit = params.add(count);
  // Indexes have these columns, so that PostgreSQL reads no rows.
  const columns = query.sort === 'user' ? 'id, actor_email_key' : `id, '' AS actor_email_key`;
  const order = orderBy({ ...query, filter }, descending);
  const source = ordered({ columns, order, filter, visible, conditions: [], limit, params });
  // Without a name, of which there are few: most lists are read by cursors.
  const { rows } = await visible.tx.query<Pick<ListPosition, 'uuid' | 'emailKey'>>({
    text: `SELECT id AS uuid, actor_email_key AS "emailKey" FROM (${source}) k ORDER BY ${order}`,
    values: params.values,
  });
  return rows;
}

/** The rows of one statement behind a position. */
async function nextRows(
  filter: SqlFilter,
  count: number,
  bytesMax: number,
  { query, visible, descending }: Way,
  position: ListPosition | null,
): Promise<CutPage> {
  const params = new Params();
  const list = { ...query, filter, limit: count };
  const order = orderBy(list, descending);
  const conditions = behind(position, list, descending, params);
  const limit = params.add(count + 1);
  const page = ordered({ columns: '*', order, filter, visible, conditions, limit, params });
  return cutPage(visible.tx, list, page, order, params, bytesMax);
}

/**
 * The rows of `page` (a statement with one row more than the limit) in this order, as many as fit
 * into `bytesMax`, but at least one: a larger event must not block the list. They are cut by their
 * size as stored first, which is smaller and needs no reading. To measure the texts of 501 events
 * PostgreSQL would read all of them: up to 300 MB.
 */
async function cutPage(
  tx: TenantTx,
  { include, limit }: Pick<ListQuery, 'include' | 'limit'>,
  page: string,
  order: string,
  params: Params,
  bytesMax: number,
): Promise<CutPage> {
  const sum = (bytes: string) =>
    `sum(1024 + ${bytes}) OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)`;
  const stored = longBytes(include.state, (column) => `pg_column_size(${column}) - 4`);
  const most = params.add(bytesMax);
  const rows = await rowsWith<ListedRow & { found: number; bytes: number }>(tx, params)`
    SELECT ${storedColumns}, ${listColumns(include.state)}, found, bytes
    FROM (SELECT *, ${sum(longBytes(include.state))} AS bytes
      FROM (SELECT *, count(*) OVER () AS found, row_number() OVER (ORDER BY ${order}) AS nth,
          ${sum(stored)} AS stored
        FROM (${page}) p) s
      WHERE stored <= ${most} OR nth = 1) w
    WHERE bytes <= ${most} OR nth = 1
    ORDER BY ${order} LIMIT ${params.add(limit)}`;
  return { rows, more: (rows[0]?.found ?? 0) > rows.length, bytes: rows.at(-1)?.bytes ?? 0 };
}

const listColumns = (withStates: boolean) =>
  `actor_email_key AS "emailKey", (before IS NOT NULL OR after IS NOT NULL OR (erased->>'state') IS NOT NULL) AS "hasState",
   ${withStates ? `before, after, ${copiesSelected}` : 'NULL AS before, NULL AS after'}`;

/** The events of these ids that match the filter, by sequence; limited like any page. */
export async function eventsById(
  uuids: readonly string[],
  query: ListQuery,
  visible: Visibility,
  bytesMax: number,
): Promise<CutPage> {
  const params = new Params();
  const { q, ...filter } = query.filter;
  const wanted = q === undefined ? uuids : await amongWithWords(visible.tx, uuids, q);
  const conditions = [
    ...allMatching(filter, visible, params),
    `id = ANY (${params.add(uuidArray(wanted))}::uuid[])`,
  ];
  const order = query.order === 'asc' ? 'sequence' : 'sequence DESC';
  const page = `SELECT * FROM audit_events WHERE ${conditions.join(' AND ')}
    ORDER BY ${order} LIMIT ${params.add(query.limit + 1)}`;
  return cutPage(visible.tx, query, page, order, params, bytesMax);
}
