import type { EventFilter } from '@indelible/protocol';
import type { TenantTx } from '../db.ts';
import { inClasses, Params, type Visibility } from '../events/filter-sql.store.ts';
import { matching, newestFirst, prepared } from '../events/list.store.ts';
import { type ExportedEvent, packedFields, separator, unpackEvent } from './packed-event.ts';

/** Which rows are in a file, and what of them. */
export interface FileRows {
  filter: EventFilter;
  /** Only what was recorded before this sequence. */
  beforeSequence: number;
  /** Only from this id on, whatever the plan shows today. */
  oldestId: string;
  /** Whether the states are needed, and when and by whom events were recorded. */
  whole: boolean;
}

/** An event of a page; null when it is to be read alone, because it is large or odd. */
export interface PageRow {
  uuid: string;
  event: ExportedEvent | null;
}

export interface RowsPage {
  rows: PageRow[];
  /** Whether there may be more. */
  more: boolean;
}

/**
 * Events larger than these do not come in pages: two pages of them would not fit into memory. A page is
 * long, because looking into a hundred partitions costs as much as reading hundreds of rows.
 */
const pageOf = {
  whole: { rows: 500, eventBytesMax: 32 * 1024 },
  changes: { rows: 2_000, eventBytesMax: 8 * 1024 },
};

/** The next rows in list order, newest first, older than `before` (null: from the newest). */
export async function nextRows(
  tx: TenantTx,
  { filter, beforeSequence, oldestId, whole }: FileRows,
  { classes, size }: Visibility,
  before: string | null,
): Promise<RowsPage> {
  const params = new Params();
  const conditions = [`sequence < ${params.add(beforeSequence)}`];
  if (before !== null) conditions.push(`id < ${params.add(before)}`);
  const page = whole ? pageOf.whole : pageOf.changes;
  const limit = params.add(page.rows);
  const visible = { classes, size, oldest: oldestId };
  const source = newestFirst(tx, filter, visible, conditions, limit, params);
  const states = `+ coalesce(octet_length(before::text), 0) + coalesce(octet_length(after::text), 0)`;
  const bytes = `octet_length(diff::text) ${whole ? states : ''}`;
  // One text a row: at a million rows, what is read is paid for by the column.
  const packed = `concat_ws('${separator}', ${packedFields(whole).join(', ')})`;
  const { rows } = await tx.query<{ uuid: string; line: string | null }>(
    prepared(
      `SELECT id AS uuid, CASE WHEN ${bytes} <= ${page.eventBytesMax} THEN ${packed} END AS line
       FROM (${source}) s ORDER BY id DESC LIMIT ${limit}`,
      params,
    ),
  );
  const unpacked = rows.map(({ uuid, line }) => ({
    uuid,
    event: line === null ? null : unpackEvent(uuid, line, whole),
  }));
  return { rows: unpacked, more: rows.length === page.rows };
}

/** How many rows the file will have. Costs a look at each of them, so it may take too long. */
export async function countRows(
  tx: TenantTx,
  { filter, beforeSequence, oldestId }: FileRows,
  { classes, size }: Visibility,
): Promise<number> {
  const params = new Params();
  const visible = { classes, size, oldest: oldestId };
  const conditions = [
    ...matching(tx, filter, visible, params),
    inClasses(classes),
    `sequence < ${params.add(beforeSequence)}`,
  ];
  const { rows } = await tx.query<{ count: number }>(
    prepared(
      `SELECT count(*) AS count FROM audit_events WHERE ${conditions.join(' AND ')}`,
      params,
    ),
  );
  return rows[0]?.count ?? 0;
}
