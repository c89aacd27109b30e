import type { EventFilter } from '@indelible/protocol';
import { inOrder } from '../../events/branches.store.ts';
import { longBytes } from '../../events/event-columns.store.ts';
import { Params, type Visibility } from '../../events/filter-sql.store.ts';
import { portions } from '../../events/portions.ts';
import { rowsWith } from '../../events/prepared-statement.ts';
import type { TenantTx } from '../../postgres/db.ts';
import { type PackedField, uuidBytes } from './packed-event.ts';
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
  { filter, beforeSequence, oldestId, fields, withStates }: FileRows,
  shown: Visibility,
  { from, before }: IdRange,
  page: PageSize,
): Promise<PackedPage> {
  const visible = { ...shown, oldest: oldestId };
  const texts: string[] = [];
  const bounded = { ...filter, beforeSequence };
  for await (const part of portions(bounded, visible, { from, before })) {
    const params = new Params();
    const conditions = [`id >= ${params.add(from)}`];
    if (before !== null) conditions.push(`id < ${params.add(before)}`);
    const limit = params.add(page.rows - texts.length);
    const source = inOrder('id DESC', part, visible, conditions, limit, params);
    const found = await packedRows(shown.tx, source, limit, params, { fields, withStates, page });
    texts.push(...found);
    if (texts.length === page.rows) break;
  }
  const isAlone = (text: string) => fields.length > 0 && text.length === uuidBytes;
  return { rows: texts, alone: texts.filter(isAlone).length };
}

async function packedRows(
  tx: TenantTx,
  source: string,
  limit: string,
  params: Params,
  { fields, withStates, page }: Pick<FileRows, 'fields' | 'withStates'> & { page: PageSize },
): Promise<string[]> {
  const fits = `${longBytes(withStates)} <= ${params.add(page.eventBytesMax)}`;
  const packed = ['id', ...fields.map(({ sql }) => sql)].join(', ');
  const rows = await rowsWith<{ row: string }>(tx, params)`
    SELECT CASE WHEN ${fits} THEN concat_ws(E'\\x1f', ${packed}) ELSE id::text END AS row
    FROM (${source}) s ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(({ row }) => row);
}
