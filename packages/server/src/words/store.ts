import { storedFields } from '@indelible/protocol';
import { givingWay } from '../http/giving-way.ts';
import { classesOf } from '../log/entries.store.ts';
import { byteaArray, int2Array, int8Array, uuidArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, raw, rowsOf, sql } from '../postgres/sql.ts';
import type { Queries, TenantTx, WriterTx } from '../postgres/tenant-tx.ts';
import { type BlockFields, blockKeys, blockWordsInTurns } from './block-words.ts';
import {
  smallEntries,
  uuidAt,
  uuidLength,
  type WordBlock,
  type WordedEvent,
} from './word-block.ts';
import { entriesMax } from './word-lists.ts';

/** Up to 100 tenants with so many entries in no block, before the last that fill a small one. */
export async function tenantsToIndex(
  db: Queries,
  entries: number,
  except: readonly string[],
): Promise<string[]> {
  const rows = await rowsOf<{ tenantId: string }>(db)`SELECT tenant_id AS "tenantId"
    FROM log_heads h LEFT JOIN word_heads w USING (tenant_id)
    WHERE h.size - h.size % ${smallEntries} >= coalesce(w.size, 0) + ${entries}
      AND tenant_id <> ALL (${uuidArray(except)}::uuid[])
    ORDER BY random() LIMIT 100`;
  return rows.map(({ tenantId }) => tenantId);
}

/**
 * Locks the tenant's blocks; returns the number of its entries that are in blocks. Null if another
 * process has the lock, unless `wait`.
 */
export async function lockWords(
  tx: WriterTx,
  tenantId: string,
  wait: boolean,
): Promise<number | null> {
  await execute(tx)`INSERT INTO word_heads (tenant_id) VALUES (${tenantId}) ON CONFLICT DO NOTHING`;
  // Uniting blocks takes seconds.
  if (wait) await tx.query("SET LOCAL lock_timeout = '30s'");
  const row = await firstRow<{ size: number }>(tx)`SELECT size FROM word_heads
    WHERE tenant_id = ${tenantId} FOR UPDATE ${wait ? sql`` : sql`SKIP LOCKED`}`;
  return row?.size ?? null;
}

const blockColumns = storedFields
  .filter(({ key }) => blockKeys.some((each) => each === key))
  .map(({ column, key }) => `, ${column} AS "${key}"`)
  .join('');

/**
 * The rows of these ids, in whatever class. Each class is a constant and each id is looked up
 * alone: PostgreSQL then opens the partition of the id only, of hundreds.
 */
async function rowsOfIds<Row extends { uuid: string }>(
  tx: Pick<TenantTx, 'query'>,
  { tenantId, classes }: { tenantId: string; classes: readonly number[] },
  uuids: readonly string[],
  columns: string,
  condition = '',
): Promise<Row[]> {
  if (classes.length === 0 || uuids.length === 0) return [];
  const branches = classes.map(
    (each) => `SELECT id AS uuid ${columns} FROM unnest($2::uuid[]) AS wanted
      JOIN audit_events ON id = wanted WHERE tenant_id = $1 AND retention_class = ${each} ${condition}`,
  );
  const { rows } = await tx.query<Row>({
    name: `rows-of-ids-${classes.join('-')}-${columns.length}-${condition.length}`,
    text: branches.join(' UNION ALL '),
    values: [tenantId, uuidArray(uuids)],
  });
  return rows;
}

/** Events with up to 8 KiB of text: 4,096 of them take 32 MiB. The largest have 600 KiB. */
const isShort = `AND octet_length(diff::text) + coalesce(octet_length(context::text), 0)
  + coalesce(octet_length(context_identity::text), 0) <= 8192`;

/** Events with more text that are read at once: 10 MiB of the largest. */
const longAtOnce = 16;

type Row = BlockFields & { uuid: string };

/** The events of these ids that are stored, each with its words. */
export async function* wordedEvents(
  tx: TenantTx,
  uuids: readonly string[],
): AsyncGenerator<WordedEvent> {
  const giveWay = givingWay();
  // The words of one event may take 20 MiB, so there are those of one at a time.
  for await (const row of searchedEvents(tx, uuids))
    yield { uuid: row.uuid, words: await blockWordsInTurns(row, giveWay) };
}

/** Reads the events to be searched, without words. */
export async function* searchedEvents(tx: TenantTx, uuids: readonly string[]): AsyncGenerator<Row> {
  const { tenantId } = tx;
  const own = { tenantId, classes: await classesOf(tx, tenantId) };
  const short = await rowsOfIds<Row>(tx, own, uuids, blockColumns, isShort);
  yield* oneByOne(tx, short);
  const found = new Set(short.map(({ uuid }) => uuid));
  const others = uuids.filter((uuid) => !found.has(uuid));
  for (let at = 0; at < others.length; at += longAtOnce) {
    const some = others.slice(at, at + longAtOnce);
    yield* oneByOne(tx, await rowsOfIds<Row>(tx, own, some, blockColumns));
  }
}

async function* oneByOne({ gone }: TenantTx, rows: readonly Row[]): AsyncGenerator<Row> {
  const giveWay = givingWay();
  for (const row of rows) {
    await giveWay();
    gone?.throwIfAborted();
    yield row;
  }
}

/** Adds blocks; their lock is held. Citus knows the node by the row of `word_heads`. */
export async function insertBlocks(
  tx: WriterTx,
  tenantId: string,
  blocks: readonly WordBlock[],
): Promise<void> {
  const stored = blocks.filter(({ ids }) => ids.length > 0);
  await execute(tx)`INSERT INTO word_blocks (tenant_id, first, entries, ids, oldest, newest)
    SELECT tenant_id, u.* FROM word_heads CROSS JOIN unnest(
      ${int8Array(stored.map(({ first }) => first))}::int8[],
      ${int8Array(stored.map(({ entries }) => entries))}::int8[],
      ${byteaArray(stored.map(({ ids }) => ids))}::bytea[],
      ${uuidArray(stored.map(({ ids }) => uuidAt(ids, 0)))}::uuid[],
      ${uuidArray(stored.map(({ ids }) => uuidAt(ids, ids.length / uuidLength - 1)))}::uuid[]) AS u
    WHERE tenant_id = ${tenantId}`;
  const rows = stored.flatMap(({ first, lists }) => lists.map((each) => ({ first, ...each })));
  await execute(tx)`INSERT INTO word_lists (tenant_id, first, list, words)
    SELECT tenant_id, u.* FROM word_heads CROSS JOIN unnest(
      ${int8Array(rows.map(({ first }) => first))}::int8[],
      ${int2Array(rows.map(({ list }) => list))}::int2[],
      ${byteaArray(rows.map(({ words }) => words))}::bytea[]) AS u
    WHERE tenant_id = ${tenantId}`;
}

export async function setWordsSize(tx: WriterTx, tenantId: string, size: number): Promise<void> {
  await execute(tx)`UPDATE word_heads SET size = ${size} WHERE tenant_id = ${tenantId}`;
}

/** The ids of the tenant's blocks in this range of sequences. */
export async function idsOfBlocks(
  tx: WriterTx,
  tenantId: string,
  start: number,
  end: number,
): Promise<BlockIds[]> {
  return rowsOf<BlockIds>(tx)`SELECT first, entries, ids FROM word_blocks
    WHERE tenant_id = ${tenantId} AND first >= ${start} AND first < ${end} ORDER BY first`;
}

/** The lists that any block in this range of sequences has, each with the bytes of all blocks. */
export async function listsBetween(
  tx: WriterTx,
  tenantId: string,
  start: number,
  end: number,
): Promise<{ list: number; bytes: number }[]> {
  return rowsOf<{ list: number; bytes: number }>(tx)`
    SELECT list, sum(octet_length(words)) AS bytes FROM word_lists
    WHERE tenant_id = ${tenantId} AND first >= ${start} AND first < ${end} GROUP BY list`;
}

interface StoredList {
  first: number;
  list: number;
  words: Buffer;
}

/** These lists of each block in this range of sequences; null: all. */
export async function listsInBlocks(
  tx: WriterTx,
  tenantId: string,
  lists: readonly number[] | null,
  start: number,
  end: number,
): Promise<StoredList[]> {
  const wanted = lists && sql`AND list = ANY (${int2Array(lists)}::int2[])`;
  return rowsOf<StoredList>(tx)`SELECT first, list, words FROM word_lists
    WHERE tenant_id = ${tenantId} AND first >= ${start} AND first < ${end} ${wanted ?? sql``}`;
}

export async function deleteBlocks(
  tx: WriterTx,
  tenantId: string,
  start: number,
  end: number,
): Promise<void> {
  for (const table of ['word_lists', 'word_blocks']) {
    await execute(tx)`DELETE FROM ${raw(table)}
      WHERE tenant_id = ${tenantId} AND first >= ${start} AND first < ${end}`;
  }
}

/** How far the tenant's words are in blocks. */
export interface WordsProgress {
  /** Entries in blocks. */
  indexed: number;
  size: number;
}

export async function wordsProgress(tx: TenantTx): Promise<WordsProgress> {
  const row = await firstRow<WordsProgress>(tx)`SELECT coalesce(w.size, 0) AS indexed, h.size
    FROM log_heads h LEFT JOIN word_heads w USING (tenant_id) WHERE h.tenant_id = ${tx.tenantId}`;
  return row ?? { indexed: 0, size: 0 };
}

/** A block as a search reads it. */
export interface BlockRange {
  first: number;
  entries: number;
  events: number;
  oldest: string;
  newest: string;
}

const blockRange = sql`first, entries, octet_length(ids) / ${uuidLength}::int AS events,
  oldest, newest`;

/** The blocks with ids in a half-open range; the one with the newest id first. */
export async function blocksBetween(
  tx: TenantTx,
  from: string,
  before: string,
): Promise<BlockRange[]> {
  return rowsOf<BlockRange>(tx)`SELECT ${blockRange}
    FROM word_blocks WHERE tenant_id = ${tx.tenantId} AND newest >= ${from} AND oldest < ${before}
    ORDER BY newest DESC`;
}

/** The blocks with these entries of the log. */
export async function blocksOfEntries(
  tx: TenantTx,
  start: number,
  end: number,
): Promise<BlockRange[]> {
  return rowsOf<BlockRange>(tx)`SELECT ${blockRange}
    FROM word_blocks WHERE tenant_id = ${tx.tenantId}
      AND first > ${start - entriesMax} AND first < ${end} AND first + entries > ${start}`;
}

/** The UUIDs at these ascending offsets of a block, in their order. */
export async function idsAt(
  tx: TenantTx,
  first: number,
  offsets: readonly number[],
): Promise<string[]> {
  const [low = 0, high = 0] = [offsets[0], offsets.at(-1)];
  // One slice is faster, unless most of it is not needed.
  const isDense = high - low < 16 * offsets.length;
  const wanted = isDense
    ? sql`substring(ids FROM ${low * uuidLength + 1}::int FOR ${(high - low + 1) * uuidLength}::int)`
    : sql`(SELECT string_agg(substring(ids FROM o::int * ${uuidLength}::int + 1
        FOR ${uuidLength}::int), '' ORDER BY o) FROM unnest(${int8Array(offsets)}::int8[]) o)`;
  const row = await firstRow<{ ids: Buffer }>(tx)`SELECT ${wanted} AS ids FROM word_blocks
    WHERE tenant_id = ${tx.tenantId} AND first = ${first}`;
  const ids = row?.ids ?? Buffer.alloc(0);
  return offsets.map((offset, at) => uuidAt(ids, isDense ? offset - low : at));
}

/** These lists of blocks, if they exist; null if one is longer than `bytesMax`. */
export async function readLists(
  tx: TenantTx,
  wanted: readonly { first: number; list: number }[],
  bytesMax: number,
): Promise<{ first: number; list: number; bytes: number; words: Buffer | null }[]> {
  type Row = { first: number; list: number; bytes: number; text: string | null };
  const rows = await rowsOf<Row>(tx)`SELECT first, list, octet_length(words) AS bytes,
      CASE WHEN octet_length(words) <= ${bytesMax}::int8 THEN encode(words, 'base64') END AS text
    FROM unnest(${int8Array(wanted.map(({ first }) => first))}::int8[],
      ${int2Array(wanted.map(({ list }) => list))}::int2[]) AS wanted (first, list)
    JOIN word_lists USING (list, first) WHERE tenant_id = ${tx.tenantId}`;
  return rows.map(({ text, ...row }) => ({
    ...row,
    words: text === null ? null : Buffer.from(text, 'base64'),
  }));
}

/* Statements of the owner role. */

/** A block with the ids of its events. */
export interface BlockIds {
  first: number;
  entries: number;
  ids: Buffer;
}

/** The blocks that have any of these sequences. */
export async function blocksWithSequences(
  tx: WriterTx,
  tenantId: string,
  sequences: readonly number[],
): Promise<BlockIds[]> {
  return rowsOf<BlockIds>(tx)`
    SELECT first, entries, ids FROM word_blocks WHERE tenant_id = ${tenantId} AND first IN (
      SELECT max(b.first) FROM unnest(${int8Array(sequences)}::int8[]) AS wanted
      JOIN word_blocks b ON b.tenant_id = ${tenantId} AND b.first <= wanted
        AND b.first + b.entries > wanted
      GROUP BY wanted)`;
}

/** Blocks whose oldest event was removed. */
export async function blocksWithGoneEvents(
  owner: Queries,
  atMs: number,
): Promise<{ tenantId: string; first: number }[]> {
  const kept = sql`make_interval(years => p.years, days => p.days)`;
  const shownFrom = sql`first_id_at(${new Date(atMs)}::timestamptz - ${kept})`;
  return rowsOf<{ tenantId: string; first: number }>(owner)`
    SELECT b.tenant_id AS "tenantId", b.first FROM word_blocks b
      JOIN tenants t ON t.id = b.tenant_id JOIN plans p ON p.name = t.plan
    WHERE b.oldest < ${shownFrom}
      AND NOT EXISTS (SELECT 1 FROM log_heads h,
        unnest(h.retention_class || h.other_classes) AS class,
        LATERAL (SELECT 1 FROM audit_events WHERE tenant_id = b.tenant_id
          AND retention_class = class AND id = b.oldest) e
        WHERE h.tenant_id = b.tenant_id)
    ORDER BY 1, 2`;
}

/** Which of these ids have stored events. */
export async function storedAmong(
  tx: WriterTx,
  tenantId: string,
  uuids: readonly string[],
): Promise<Set<string>> {
  const own = { tenantId, classes: await classesOf(tx, tenantId) };
  return new Set((await rowsOfIds(tx, own, uuids, '')).map(({ uuid }) => uuid));
}

/** Null: the list is empty. */
export async function replaceList(
  tx: WriterTx,
  tenantId: string,
  first: number,
  list: number,
  words: Buffer | null,
): Promise<void> {
  const ofList = sql`WHERE tenant_id = ${tenantId} AND first = ${first} AND list = ${list}`;
  if (words === null) await execute(tx)`DELETE FROM word_lists ${ofList}`;
  else await execute(tx)`UPDATE word_lists SET words = ${words} ${ofList}`;
}

export async function setOldest(
  tx: WriterTx,
  tenantId: string,
  first: number,
  oldest: string,
): Promise<void> {
  await execute(tx)`UPDATE word_blocks SET oldest = ${oldest}
    WHERE tenant_id = ${tenantId} AND first = ${first}`;
}
