import type { CsvEvent, EventFilter } from '@indelible/protocol';
import type { TenantTx } from '../db.ts';
import { inClasses, Params, type Visibility } from '../events/filter-sql.store.ts';
import { matching, newestFirst, prepared } from '../events/list.store.ts';

/** A row of a file; what the file does not show is null. */
export type ExportedEvent = CsvEvent;

/** Which rows are in a file, and what of them. */
export interface FileRows {
  filter: EventFilter;
  /** Only what was recorded before this sequence. */
  beforeSequence: number;
  /** Only from this id on, whatever the plan shows today. */
  oldestId: string;
  states: boolean;
}

/** Where a page ends for its size: two of them and a few slices are in memory. */
const pageBytes = 2 * 2 ** 20;

// Nothing but what is written: at a million rows each column that is read costs.
const columns = `id AS uuid, tenant_id AS "tenantId", actor_id AS "actorId", actor_email AS "actorEmail",
  actor_role AS "actorRole", actor_ip AS "actorIp", actor_user_agent AS "actorUserAgent", action,
  resource_type AS "resourceType", resource_id AS "resourceId", resource_name AS "resourceName", diff,
  cross_tenant AS "crossTenant", reason, category, sequence, received_at AS "receivedAtMs",
  recorded_by_kind AS "recordedByKind", recorded_by_id AS "recordedById"`;

export interface RowsPage {
  rows: ExportedEvent[];
  /** Whether there may be more. */
  more: boolean;
}

/**
 * The next rows in list order, newest first, older than `before` (null: from the newest): `max`, or as
 * many as fit, but at least one if there is any. A page ends behind the row that fills it.
 */
export async function nextRows(
  tx: TenantTx,
  wanted: FileRows,
  { classes, size }: Visibility,
  before: string | null,
  max: number,
): Promise<RowsPage> {
  const params = new Params();
  const conditions = [`sequence < ${params.add(wanted.beforeSequence)}`];
  if (before !== null) conditions.push(`id < ${params.add(before)}`);
  const visible = { classes, size, oldest: wanted.oldestId };
  const limit = params.add(max);
  const source = newestFirst(tx, wanted.filter, visible, conditions, limit, params);
  const bytesMax = params.add(pageBytes);
  const texts = ['diff::text', 'reason', ...(wanted.states ? ['before::text', 'after::text'] : [])];
  const own = texts.map((text) => `coalesce(octet_length(${text}), 0)`).join(' + ');
  const states = wanted.states ? 'before, after' : 'NULL AS before, NULL AS after';
  const { rows } = await tx.query<ExportedEvent & { fills: boolean }>(
    prepared(
      `SELECT ${columns}, ${states}, upto >= ${bytesMax} AS fills
       FROM (SELECT *, sum(own) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS upto
         FROM (SELECT *, ${own} AS own FROM (${source}) s ORDER BY id DESC LIMIT ${limit}) p) w
       WHERE upto - own < ${bytesMax} ORDER BY id DESC`,
      params,
    ),
  );
  return { rows, more: rows.length === max || rows.at(-1)?.fills === true };
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
