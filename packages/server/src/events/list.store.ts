import type { ListQuery } from '@indelible/protocol';
import type pg from 'pg';
import type { TenantTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { wordsToFind } from '../words/block-words.ts';
import { amongWithWords } from '../words/find-words.ts';
import { partsByAddress, partsOfPage } from './address-parts.store.ts';
import { behind, orderBy, ordered } from './branches.store.ts';
import { behindCounted, countMatching } from './count.store.ts';
import { copiesSelected, longBytes, storedColumns } from './event-columns.store.ts';
import { allMatching, Params, type SqlFilter, type Visibility } from './filter-sql.store.ts';
import type { ListPosition } from './list-cursor.ts';
import { type CutPage, type ListedPage, type ListedRow, pageBytesMax } from './listed-row.ts';
import { inOneStatement, nearFirst, portions, restOfUser, widerAndWider } from './portions.ts';
import { prepared, rowsWith } from './prepared-statement.ts';

/** A page of a list, as PostgreSQL is asked for it. */
interface WantedPage {
  query: ListQuery & { filter: SqlFilter };
  descending: boolean;
  position: ListPosition | null;
  bytesMax: number;
}

/** A list in the order of the log, without totals and states. */
const noMore = { total: false, state: false };
export const inSequence = { sort: 'sequence', order: 'asc', include: noMore } as const;

/** One page in list order. */
export async function listEvents(
  query: ListQuery,
  visible: Visibility,
  cursor: ListPosition | null,
): Promise<ListedPage> {
  const backwards = cursor?.direction === 'previous';
  const descending = (query.order === 'desc') !== backwards;
  const skip = ((query.page ?? 1) - 1) * query.limit;
  let position = skip > 0 ? await positionAfter(query, visible, descending, skip) : cursor;
  if (skip > 0 && position === null) return { rows: [], more: false };
  const rows: ListedRow[] = [];
  let [more, bytes] = [false, 0];
  for await (const filter of await partsOf(query, visible, position, descending)) {
    // Of a list by user a part has the events of one user.
    const sort = filter.isPart ? 'timestamp' : query.sort;
    // One more than wanted: the next part may have no match.
    const part = { ...query, sort, filter, limit: query.limit + 1 - rows.length };
    const wanted = { query: part, position, descending, bytesMax: pageBytesMax - bytes };
    const page = await nextPage(visible, wanted);
    more = isOver(rows, page, wanted);
    if (more) break;
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

/** Whether the only event of a part is larger than the room left: it begins the next page. */
const isOver = (rows: readonly ListedRow[], part: CutPage, { bytesMax }: WantedPage) =>
  rows.length > 0 && part.bytes > bytesMax;

/** Parts follow the ids; a page in another order needs all matches at once. */
async function partsOf(
  { filter, sort }: ListQuery,
  visible: Visibility,
  position: ListPosition | null,
  descending: boolean,
): Promise<AsyncIterable<SqlFilter> | readonly SqlFilter[]> {
  if (sort === 'user') {
    const rest = restOfUser(filter, visible, position, descending);
    return [...rest, await inOneStatement(filter, visible)];
  }
  if (wordsToFind(filter) === undefined) return nearFirst(filter, visible, position, descending);
  const bound = position ? { [descending ? 'before' : 'from']: position.uuid } : {};
  return portions(filter, visible, { ...bound, ascending: !descending });
}

/** The position behind the first `skip` events; null: there are no more. */
async function positionAfter(
  query: ListQuery,
  visible: Visibility,
  descending: boolean,
  skip: number,
): Promise<ListPosition | null> {
  if (query.sort === 'user') {
    const filter = await inOneStatement(query.filter, visible);
    return keyAt({ ...query, filter }, visible, descending, skip);
  }
  if (wordsToFind(query.filter) === undefined) {
    const rest = await behindCounted(query.filter, visible, descending, skip);
    const key = { skip: rest.skip - 1, limit: 1 };
    const whole = keysStatement({ ...query, filter: rest.filter }, visible, descending, key);
    const isPlanned = whole.name !== undefined;
    const filters = isPlanned ? [rest.filter] : widerAndWider(rest.filter, visible, descending);
    for (const filter of filters) {
      const position = await keyAt({ ...query, filter }, visible, descending, rest.skip);
      if (position !== null) return position;
    }
    return null;
  }
  let left = skip;
  for await (const filter of portions(query.filter, visible, { ascending: !descending })) {
    const found = await countMatching(filter, visible, left);
    if (found === left) return keyAt({ ...query, filter }, visible, descending, left);
    left -= found;
  }
  return null;
}

type PartOfList = ListQuery & { filter: SqlFilter };

/** The position of the nth event of one statement. */
async function keyAt(
  query: PartOfList,
  visible: Visibility,
  descending: boolean,
  nth: number,
): Promise<ListPosition | null> {
  const [key] = await keysInOrder(query, visible, descending, { skip: nth - 1, limit: 1 });
  return key === undefined ? null : positionAt(key);
}

const positionAt = ({ uuid, emailKey }: Keys[number]): ListPosition => ({
  direction: 'next',
  uuid,
  emailKey,
  sequence: 0,
});

/** A page of one part: the events of one address after the other, or of one statement. */
async function nextPage(visible: Visibility, wanted: WantedPage): Promise<CutPage> {
  const { query, descending, bytesMax } = wanted;
  if (query.sort !== 'user') return statementPage(visible, wanted);
  const parts = partsOfPage(query.filter, visible, wanted.position, descending);
  const rows: ListedRow[] = [];
  let bytes = 0;
  for await (const { filter: all, sort, position } of parts) {
    const near = sort === 'user' ? [all] : nearFirst(all, visible, position, descending);
    for (const filter of near) {
      const part = { ...query, filter, sort, limit: query.limit - rows.length };
      const rest = { query: part, position, descending, bytesMax: bytesMax - bytes };
      const page = await statementPage(visible, rest);
      if (isOver(rows, page, rest)) return { rows, bytes, more: true };
      rows.push(...page.rows);
      bytes += page.bytes;
      if (page.more || rows.length === query.limit) return { rows, bytes, more: true };
    }
  }
  return { rows, bytes, more: false };
}

async function statementPage(
  visible: Visibility,
  { query, position, descending, bytesMax }: WantedPage,
): Promise<CutPage> {
  const params = new Params();
  const order = orderBy(query, descending);
  const conditions = behind(position, query, descending, params);
  const limit = params.add(query.limit + 1);
  const { filter } = query;
  const source = ordered({ columns: '*', order, filter, visible, conditions, limit, params });
  return cutPage(visible.tx, query, `${source} LIMIT ${limit}`, order, params, bytesMax);
}

type Keys = { uuid: string; emailKey: string }[];

/** Keys of events: of one address after the other, or of one statement. */
async function keysInOrder(
  query: PartOfList,
  visible: Visibility,
  descending: boolean,
  { skip, limit }: { skip: number; limit: number },
): Promise<Keys> {
  const byAddress =
    query.sort === 'user' ? await partsByAddress(query.filter, visible, descending) : null;
  // To compare addresses the rows are read: for all of them at once.
  if (byAddress === null || byAddress.some(({ filter }) => filter.address !== undefined))
    return keysOf(visible.tx, keysStatement(query, visible, descending, { skip, limit }));
  const keys: Keys = [];
  let left = skip;
  for (const [at, { filter, address }] of byAddress.entries()) {
    const part = { ...query, filter, sort: 'timestamp' } as const;
    if (left > 0 && at < byAddress.length - 1) {
      const found = await countKeys(part, visible, descending, left + 1);
      if (found <= left) {
        left -= found;
        continue;
      }
    }
    const rest = { skip: left, limit: limit - keys.length };
    const own = await keysOf(visible.tx, keysStatement(part, visible, descending, rest));
    keys.push(...own.map(({ uuid }) => ({ uuid, emailKey: address })));
    if (keys.length === limit) break;
    left = 0;
  }
  return keys;
}

async function keysOf(tx: TenantTx, statement: pg.QueryConfig): Promise<Keys> {
  const { rows } = await tx.query<Keys[number]>(statement);
  return rows;
}

function keysStatement(
  query: PartOfList,
  visible: Visibility,
  descending: boolean,
  { skip, limit }: { skip: number; limit: number },
): pg.QueryConfig {
  const params = new Params();
  const emailKey = query.sort === 'user' ? 'actor_email_key' : `''`;
  const source = keysSource(query, visible, descending, skip + limit, params);
  return prepared(
    `SELECT id AS uuid, ${emailKey} AS "emailKey"
     FROM (${source} OFFSET ${params.add(skip)} LIMIT ${params.add(limit)}) k`,
    params,
  );
}

/** The number of events, up to `max`. */
async function countKeys(
  query: PartOfList,
  visible: Visibility,
  descending: boolean,
  max: number,
): Promise<number> {
  const params = new Params();
  const source = keysSource(query, visible, descending, max, params);
  const statement = `SELECT count(*) AS count FROM (${source} LIMIT ${params.add(max)}) k`;
  const rows = await rowsWith<{ count: number }>(visible.tx, params)`${statement}`;
  return rows[0]?.count ?? 0;
}

/** Indexes have these columns, so what is skipped is not read. */
function keysSource(
  query: PartOfList,
  visible: Visibility,
  descending: boolean,
  max: number,
  params: Params,
): string {
  const { filter, sort } = query;
  const order = orderBy(query, descending);
  const columns = sort === 'user' ? 'id, actor_email_key' : 'id';
  const limit = params.add(max);
  return ordered({ columns, order, filter, visible, conditions: [], limit, params });
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
