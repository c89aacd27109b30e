import type { EventFilter } from '@indelible/protocol';
import { inOrder } from '../../events/branches.store.ts';
import {
  type ColdQuery,
  coldCount,
  coldKeys,
  coldRange,
  coldRows,
} from '../../events/cold.store.ts';
import { allMatching, Params, type Visibility } from '../../events/filter-sql.store.ts';
import { portions } from '../../events/portions.ts';
import { prepared } from '../../events/prepared-statement.ts';
import type { TenantTx } from '../../postgres/db.ts';
import { type PackedField, packedEvent, uuidBytes } from './packed-event.ts';
import type { PageSize } from './page-size.ts';

/** The rows of a file, and their fields. */
export interface FileRows {
  filter: EventFilter;
  /** Only events recorded before this sequence. */
  beforeSequence: number;
  /** Only from this id on, whatever the plan shows now. */
  oldestId: string;
  /** The packed fields of a row. */
  fields: readonly PackedField[];
  /** Whether they include the states. */
  withStates: boolean;
}

/** A half-open range of ids; null: no end. */
export interface IdRange {
  from: string;
  before: string | null;
}

/** Packed rows, newest first, see packed-event.ts. */
export interface PackedPage {
  rows: string[];
  /** How many of them were sent as their id only. */
  alone: number;
}

/** The next rows in list order, newest first, within a range. */
export async function nextRows(
  tx: TenantTx,
  { filter, beforeSequence, oldestId, fields, withStates }: FileRows,
  shown: Visibility,
  { from, before }: IdRange,
  page: PageSize,
): Promise<PackedPage> {
  const visible = { ...shown, oldest: oldestId };
  const texts: string[] = [];
  for await (const part of portions(tx, filter, visible, { from, before })) {
    const params = new Params();
    const conditions = [`sequence < ${params.add(beforeSequence)}`, `id >= ${params.add(from)}`];
    if (before !== null) conditions.push(`id < ${params.add(before)}`);
    const limit = params.add(page.rows - texts.length);
    const source = inOrder('id DESC', tx, part, visible, conditions, limit, params);
    const hot = await packedRows(tx, source, limit, params, { fields, withStates, page });
    const range = coldRange(visible, part, { from, before });
    const cold = range ? { filter: part, range, descending: true, beforeSequence } : null;
    const left = { ...page, rows: page.rows - texts.length };
    texts.push(...(cold ? await withCold(tx, visible, cold, hot, fields, left) : hot));
    if (texts.length === page.rows) break;
  }
  const isAlone = (text: string) => fields.length > 0 && text.length === uuidBytes;
  return { rows: texts, alone: texts.filter(isAlone).length };
}

/** The first rows of both, newest first. */
async function withCold(
  tx: TenantTx,
  visible: Visibility,
  wanted: ColdQuery,
  hot: readonly string[],
  fields: readonly PackedField[],
  { rows: count, eventBytesMax }: PageSize,
): Promise<string[]> {
  const last = hot.length === count ? hot.at(-1)?.slice(0, uuidBytes) : undefined;
  if (last !== undefined && last >= wanted.range.before) return [...hot];
  const keys = await coldKeys(tx, visible, wanted, count);
  const rows = await coldRows(tx, keys, eventBytesMax);
  const packed = new Map(rows.map((row) => [row.uuid, packedEvent(row, fields)]));
  const cold = keys.map(({ uuid }) => packed.get(uuid) ?? uuid);
  const idOf = (row: string) => row.slice(0, uuidBytes);
  const all = [...hot, ...cold].sort((a, b) => (idOf(a) < idOf(b) ? 1 : -1));
  return all.slice(0, count);
}

async function packedRows(
  tx: TenantTx,
  source: string,
  limit: string,
  params: Params,
  { fields, withStates, page }: Pick<FileRows, 'fields' | 'withStates'> & { page: PageSize },
): Promise<string[]> {
  const states = `+ coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)`;
  const bytes = `octet_length(diff::text) ${withStates ? states : ''}`;
  const fits = `${bytes} <= ${params.add(page.eventBytesMax)}`;
  const packed = ['id', ...fields.map(({ sql }) => sql)].join(', ');
  const { rows } = await tx.query<{ row: string }>(
    prepared(
      `SELECT CASE WHEN ${fits} THEN concat_ws(E'\\x1f', ${packed}) ELSE id::text END AS row
       FROM (${source}) s ORDER BY id DESC LIMIT ${limit}`,
      params,
    ),
  );
  return rows.map(({ row }) => row);
}

/** The number of rows of the file. Reads each of them, so it may take too long. */
export async function countRows(
  tx: TenantTx,
  { filter, beforeSequence, oldestId }: Omit<FileRows, 'fields' | 'withStates'>,
  shown: Visibility,
): Promise<number> {
  const visible = { ...shown, oldest: oldestId };
  let count = 0;
  for await (const part of portions(tx, filter, visible)) {
    const params = new Params();
    const conditions = [
      ...allMatching(tx, part, visible, params),
      `sequence < ${params.add(beforeSequence)}`,
    ];
    const { rows } = await tx.query<{ count: number }>(
      prepared(
        `SELECT count(*) AS count FROM audit_events WHERE ${conditions.join(' AND ')}`,
        params,
      ),
    );
    count += rows[0]?.count ?? 0;
    const range = coldRange(visible, part);
    const cold = range && { filter: part, range, beforeSequence };
    if (cold) count += await coldCount(tx, visible, cold, Number.MAX_SAFE_INTEGER);
  }
  return count;
}
