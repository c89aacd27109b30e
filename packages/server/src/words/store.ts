import { storedFields } from '@indelible/protocol';
import {
  byteaArray,
  int2Array,
  int8Array,
  type TenantTx,
  uuidArray,
  type WriterTx,
} from '../postgres/index.ts';
import { type BlockFields, blockKeys, blockWords } from './block-words.ts';
import {
  largeEntries,
  listsOf,
  smallEntries,
  uuidAt,
  uuidLength,
  type WordBlock,
  type WordedEvent,
} from './word-block.ts';

/** Tenants with so many entries in no block. */
export async function tenantsToIndex(
  db: Pick<WriterTx, 'query'>,
  entries: number,
): Promise<string[]> {
  const { rows } = await db.query<{ tenantId: string }>(
    `SELECT tenant_id AS "tenantId" FROM log_heads h LEFT JOIN word_heads w USING (tenant_id)
     WHERE h.size >= coalesce(w.size, 0) + $1 ORDER BY random() LIMIT 100`,
    [entries],
  );
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
  await tx.query({
    name: 'add-word-head',
    text: 'INSERT INTO word_heads (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING',
    values: [tenantId],
  });
  // Uniting blocks takes seconds.
  if (wait) await tx.query("SET LOCAL lock_timeout = '30s'");
  const { rows } = await tx.query<{ size: number }>({
    name: `lock-words${wait ? '' : '-now'}`,
    text: `SELECT size FROM word_heads WHERE tenant_id = $1 FOR UPDATE ${wait ? '' : 'SKIP LOCKED'}`,
    values: [tenantId],
  });
  return rows[0]?.size ?? null;
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
  tenantId: string,
  uuids: readonly string[],
  columns: string,
): Promise<Row[]> {
  const { rows: heads } = await tx.query<{ classes: number[] }>({
    name: 'classes-of-tenant',
    text: 'SELECT retention_class || other_classes AS classes FROM log_heads WHERE tenant_id = $1',
    values: [tenantId],
  });
  const classes = heads.flatMap((head) => head.classes.map(Number));
  if (classes.length === 0 || uuids.length === 0) return [];
  const branches = classes.map(
    (each) => `SELECT id AS uuid ${columns} FROM unnest($2::uuid[]) AS wanted
      JOIN audit_events ON id = wanted WHERE tenant_id = $1 AND retention_class = ${each}`,
  );
  const { rows } = await tx.query<Row>({
    name: `rows-of-ids-${classes.join('-')}-${columns.length}`,
    text: branches.join(' UNION ALL '),
    values: [tenantId, uuidArray(uuids)],
  });
  return rows;
}

/** The events of these ids that are stored, with their words. */
export async function wordedEvents(tx: TenantTx, uuids: readonly string[]): Promise<WordedEvent[]> {
  type Row = BlockFields & { uuid: string };
  const rows = await rowsOfIds<Row>(tx, tx.tenantId, uuids, blockColumns);
  return rows.map((row) => ({ uuid: row.uuid, words: blockWords(row) }));
}

/** Adds blocks; their lock is held. Citus knows the node by the row of `word_heads`. */
export async function insertBlocks(
  tx: WriterTx,
  tenantId: string,
  blocks: readonly WordBlock[],
): Promise<void> {
  const stored = blocks.filter(({ ids }) => ids.length > 0);
  await tx.query({
    name: 'insert-word-blocks',
    text: `INSERT INTO word_blocks (tenant_id, first, entries, ids, oldest, newest)
      SELECT tenant_id, u.* FROM word_heads
        CROSS JOIN unnest($2::int8[], $3::int8[], $4::bytea[], $5::uuid[], $6::uuid[]) AS u
      WHERE tenant_id = $1`,
    values: [
      tenantId,
      int8Array(stored.map(({ first }) => first)),
      int8Array(stored.map(({ entries }) => entries)),
      byteaArray(stored.map(({ ids }) => ids)),
      uuidArray(stored.map(({ ids }) => uuidAt(ids, 0))),
      uuidArray(stored.map(({ ids }) => uuidAt(ids, ids.length / uuidLength - 1))),
    ],
  });
  const rows = stored.flatMap(({ first, lists }) => lists.map((each) => ({ first, ...each })));
  await tx.query({
    name: 'insert-word-lists',
    text: `INSERT INTO word_lists (tenant_id, first, list, words)
      SELECT tenant_id, u.* FROM word_heads
        CROSS JOIN unnest($2::int8[], $3::int2[], $4::bytea[]) AS u WHERE tenant_id = $1`,
    values: [
      tenantId,
      int8Array(rows.map(({ first }) => first)),
      int2Array(rows.map(({ list }) => list)),
      byteaArray(rows.map(({ words }) => words)),
    ],
  });
}

export async function setWordsSize(tx: WriterTx, tenantId: string, size: number): Promise<void> {
  await tx.query({
    name: 'set-words-size',
    text: 'UPDATE word_heads SET size = $2 WHERE tenant_id = $1',
    values: [tenantId, size],
  });
}

/** The ids of the tenant's small blocks in this range of sequences. */
export async function smallBlocks(
  tx: WriterTx,
  tenantId: string,
  start: number,
  end: number,
): Promise<{ first: number; ids: Buffer }[]> {
  const { rows } = await tx.query<{ first: number; ids: Buffer }>(
    `SELECT first, ids FROM word_blocks WHERE tenant_id = $1 AND first >= $2 AND first < $3
       AND entries = ${smallEntries} ORDER BY first`,
    [tenantId, start, end],
  );
  return rows;
}

/** One list of each block in this range of sequences. */
export async function listInBlocks(
  tx: WriterTx,
  tenantId: string,
  list: number,
  start: number,
  end: number,
): Promise<{ first: number; words: Buffer }[]> {
  const { rows } = await tx.query<{ first: number; words: Buffer }>(
    `SELECT first, words FROM word_lists WHERE tenant_id = $1 AND list = $2 AND first >= $3 AND first < $4`,
    [tenantId, list, start, end],
  );
  return rows;
}

export async function deleteBlocks(
  tx: WriterTx,
  tenantId: string,
  start: number,
  end: number,
): Promise<void> {
  for (const table of ['word_lists', 'word_blocks']) {
    await tx.query(`DELETE FROM ${table} WHERE tenant_id = $1 AND first >= $2 AND first < $3`, [
      tenantId,
      start,
      end,
    ]);
  }
}

/** How far the tenant's words are in blocks. */
export async function wordsProgress(tx: TenantTx): Promise<{ indexed: number; size: number }> {
  const { rows } = await tx.query<{ indexed: number; size: number }>({
    name: 'words-progress',
    text: `SELECT coalesce(w.size, 0) AS indexed, h.size FROM log_heads h
      LEFT JOIN word_heads w USING (tenant_id) WHERE h.tenant_id = $1`,
    values: [tx.tenantId],
  });
  return rows[0] ?? { indexed: 0, size: 0 };
}

/** A block as a search reads it. */
export interface BlockRange {
  first: number;
  entries: number;
  events: number;
  oldest: string;
  newest: string;
}

/** The blocks with ids in a half-open range; the one with the newest id first. */
export async function blocksBetween(
  tx: TenantTx,
  from: string,
  before: string,
): Promise<BlockRange[]> {
  const { rows } = await tx.query<BlockRange>({
    name: 'word-blocks-between',
    text: `SELECT first, entries, octet_length(ids) / ${uuidLength} AS events, oldest, newest
      FROM word_blocks WHERE tenant_id = $1 AND newest >= $2 AND oldest < $3 ORDER BY newest DESC`,
    values: [tx.tenantId, from, before],
  });
  return rows;
}

/** These lists of blocks, if they exist; null if one is longer than `bytesMax`. */
export async function readLists(
  tx: TenantTx,
  wanted: readonly { first: number; list: number }[],
  bytesMax: number,
): Promise<{ first: number; list: number; words: Buffer | null }[]> {
  const { rows } = await tx.query<{ first: number; list: number; words: Buffer | null }>({
    name: 'read-word-lists',
    text: `SELECT first, list, CASE WHEN octet_length(words) <= $4::int8 THEN words END AS words
      FROM unnest($2::int8[], $3::int2[]) AS wanted (first, list)
      JOIN word_lists USING (list, first) WHERE tenant_id = $1`,
    values: [
      tx.tenantId,
      int8Array(wanted.map(({ first }) => first)),
      int2Array(wanted.map(({ list }) => list)),
      bytesMax,
    ],
  });
  return rows;
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
  const { rows } = await tx.query<{ ids: Buffer }>({
    name: `word-ids-${isDense ? 'slice' : 'each'}`,
    text: isDense
      ? `SELECT substring(ids FROM $3::int * ${uuidLength} + 1 FOR ($4::int - $3::int + 1) * ${uuidLength}) AS ids
         FROM word_blocks WHERE tenant_id = $1 AND first = $2`
      : `SELECT (SELECT string_agg(substring(ids FROM o::int * ${uuidLength} + 1 FOR ${uuidLength}), '' ORDER BY o)
           FROM unnest($3::int8[]) o) AS ids FROM word_blocks WHERE tenant_id = $1 AND first = $2`,
    values: [tx.tenantId, first, ...(isDense ? [low, high] : [int8Array(offsets)])],
  });
  const ids = rows[0]?.ids ?? Buffer.alloc(0);
  return offsets.map((offset, at) => uuidAt(ids, isDense ? offset - low : at));
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
  const { rows } = await tx.query<BlockIds>(
    `SELECT first, entries, ids FROM word_blocks WHERE tenant_id = $1 AND first IN (
       SELECT max(b.first) FROM unnest($2::int8[]) AS wanted JOIN word_blocks b
         ON b.tenant_id = $1 AND b.first <= wanted AND b.first + b.entries > wanted GROUP BY wanted)`,
    [tenantId, int8Array(sequences)],
  );
  return rows;
}

/**
 * Blocks whose oldest event was removed. An event that is read from the archive is removed when its
 * plan does not show it any more; a block of such events goes as a whole.
 */
export async function blocksWithGoneEvents(
  owner: Pick<WriterTx, 'query'>,
  atMs: number,
): Promise<{ tenantId: string; first: number }[]> {
  const { rows } = await owner.query<{ tenantId: string; first: number }>(
    `SELECT b.tenant_id AS "tenantId", b.first FROM word_blocks b
       JOIN tenants t ON t.id = b.tenant_id JOIN plans p ON p.name = t.plan
     WHERE b.oldest < first_id_at($1::timestamptz - make_interval(years => p.years, days => p.days))
       AND (t.cold_before IS NULL OR NOT t.legal_hold AND b.newest <
         first_id_at($1::timestamptz - make_interval(years => p.years, days => p.days)))
       AND NOT EXISTS (SELECT 1 FROM log_heads h, unnest(h.retention_class || h.other_classes) AS class,
         LATERAL (SELECT 1 FROM audit_events WHERE tenant_id = b.tenant_id
           AND retention_class = class AND id = b.oldest) e
         WHERE h.tenant_id = b.tenant_id)
     ORDER BY 1, 2`,
    [new Date(atMs)],
  );
  return rows;
}

/** Those of these ids whose events are stored. */
export async function storedAmong(
  tx: WriterTx,
  tenantId: string,
  uuids: readonly string[],
): Promise<Set<string>> {
  return new Set((await rowsOfIds(tx, tenantId, uuids, '')).map(({ uuid }) => uuid));
}

/** These lists of a block; null: all. */
export async function listsInBlock(
  tx: WriterTx,
  tenantId: string,
  first: number,
  lists: readonly number[] | null,
): Promise<WordBlock['lists']> {
  const { rows } = await tx.query<{ list: number; words: Buffer }>(
    `SELECT list, words FROM word_lists WHERE tenant_id = $1 AND first = $2
       AND list = ANY ($3::int2[])`,
    [
      tenantId,
      first,
      int2Array(lists ?? Array.from({ length: listsOf(largeEntries) }, (_, list) => list)),
    ],
  );
  return rows;
}

/** Null: the list is empty. */
export async function replaceList(
  tx: WriterTx,
  tenantId: string,
  first: number,
  list: number,
  words: Buffer | null,
): Promise<void> {
  const key = 'WHERE tenant_id = $1 AND first = $2 AND list = $3';
  if (words === null) await tx.query(`DELETE FROM word_lists ${key}`, [tenantId, first, list]);
  else {
    const text = `UPDATE word_lists SET words = $4 ${key}`;
    await tx.query(text, [tenantId, first, list, words]);
  }
}

export async function setOldest(
  tx: WriterTx,
  tenantId: string,
  first: number,
  oldest: string,
): Promise<void> {
  await tx.query('UPDATE word_blocks SET oldest = $3 WHERE tenant_id = $1 AND first = $2', [
    tenantId,
    first,
    oldest,
  ]);
}
