import type { ExportFailure } from '@indelible/protocol';
import type { Requester } from '../access/tenant-access.ts';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { dateOrNull, execute, firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';

export type ExportStatus = 'queued' | 'running' | 'ready' | 'failed' | 'expired' | 'cancelled';

/** Why an export failed; `aborted`: the receiver closed the connection. */
export type Failure = ExportFailure;

/** What is exported, for whom, and how; never changes. */
export interface ExportRequest extends Requester {
  id: string;
  /** Sent with the answer, or made by a worker and stored. */
  mode: 'stream' | 'job';
  format: 'csv' | 'ndjson';
  /** The columns of a CSV file; null: the standard ones. */
  columns: string[] | null;
  /** JSON text, see `filterToJson`. */
  filters: string;
  /** The oldest id that the plan showed at the request. */
  oldestId: string;
  /** Matches at the request; null: above the limit of counting. */
  rowsTotal: number | null;
  createdAtMs: number;
  /** Recipient of the mail about its end; null: the tenant's addresses. */
  mailTo: string | null;
}

export interface ExportRow extends ExportRequest {
  /** Sequence of the export's own record: the file contains only earlier events. */
  beforeSequence: number;
  status: ExportStatus;
  /** The number of attempts to make the file. */
  attempt: number;
  rowsDone: number;
  bytes: number | null;
  sha256: Uint8Array | null;
  failure: Failure | null;
  finishedAtMs: number | null;
  expiresAtMs: number | null;
  /** Recipients that got mail; null: no attempt yet. */
  notified: string[] | null;
  notice: string | null;
}

export type ExportKey = Pick<ExportRow, 'tenantId' | 'id'>;
/** The members from which the object's name is made. */
export type ExportFile = ExportKey & Pick<ExportRow, 'format'>;
type ExportAttempt = ExportKey & Pick<ExportRow, 'attempt'>;

const columns = sql`tenant_id AS "tenantId", id, mode, status, format, columns, filters,
  before_sequence AS "beforeSequence", oldest_id AS "oldestId", created_at AS "createdAtMs",
  requested_by_id AS "requestedById", requested_by_email AS "requestedByEmail",
  requested_by_external_id AS "requestedByExternalId",
  requested_by_role AS "requestedByRole", agents, access_reason AS "accessReason",
  mail_to AS "mailTo", attempt, rows_done AS "rowsDone", rows_total AS "rowsTotal", bytes, sha256, failure, finished_at AS "finishedAtMs",
  expires_at AS "expiresAtMs", notified, notice`;

/**
 * Inserts an export after its own record, which must be the last event of this transaction. The
 * sequence of that event becomes the bound, and is returned with the row.
 */
export async function insertExport(tx: WriterTx, e: ExportRequest): Promise<ExportRow> {
  const row = await firstRow<ExportRow>(tx)`
    INSERT INTO exports (tenant_id, id, mode, status, format, columns, filters, oldest_id,
      rows_total, created_at, requested_by_id, requested_by_email, requested_by_role, access_reason,
      mail_to, agents, requested_by_external_id, before_sequence)
    SELECT ${e.tenantId}, ${e.id}, ${e.mode}, ${e.mode === 'job' ? 'queued' : 'running'},
      ${e.format}, ${e.columns}, ${e.filters}, ${e.oldestId}, ${e.rowsTotal},
      ${new Date(e.createdAtMs)}, ${e.requestedById}, ${e.requestedByEmail}, ${e.requestedByRole},
      ${e.accessReason}, ${e.mailTo}, ${JSON.stringify(e.agents)}, ${e.requestedByExternalId},
      size - 1 FROM log_heads
    WHERE tenant_id = ${e.tenantId} RETURNING ${columns}`;
  if (!row) throw new Error('an export was not inserted');
  return row;
}

export interface ExportUsage {
  /** Waiting or being made. */
  unfinished: number;
  keptBytes: number;
}

/**
 * The tenant's unfinished jobs (the next one waits behind as many jobs of others), and what its
 * files take.
 */
export async function exportUsage(tx: WriterTx, tenantId: string): Promise<ExportUsage> {
  const row = await firstRow<ExportUsage>(tx)`
    SELECT count(*) FILTER (WHERE status <> 'ready') AS unfinished,
      coalesce(sum(bytes) FILTER (WHERE status = 'ready'), 0)::bigint AS "keptBytes"
    FROM exports
    WHERE tenant_id = ${tenantId} AND status IN ('queued', 'running', 'ready') AND mode = 'job'`;
  return row ?? { unfinished: 0, keptBytes: 0 };
}

export async function getExport(tx: TenantTx, id: string): Promise<ExportRow | null> {
  return firstRow<ExportRow>(tx)`SELECT ${columns} FROM exports
    WHERE tenant_id = ${tx.tenantId} AND id = ${id}`;
}

/** Newest first, from this id on. */
export async function listExports(tx: TenantTx, from: string, count: number): Promise<ExportRow[]> {
  return rowsOf<ExportRow>(tx)`SELECT ${columns} FROM exports
    WHERE tenant_id = ${tx.tenantId} AND id <= ${from} ORDER BY id DESC LIMIT ${count}`;
}

/** Starts an attempt; null if there is nothing to do, for example after a cancellation. */
export async function beginExport(
  tx: WriterTx,
  { tenantId, id }: ExportKey,
): Promise<ExportRow | null> {
  return firstRow<ExportRow>(tx)`UPDATE exports
    SET status = 'running', attempt = attempt + 1, rows_done = 0, failure = NULL, stored = true
    WHERE tenant_id = ${tenantId} AND id = ${id} AND mode = 'job' AND status IN ('queued',
      'running') RETURNING ${columns}`;
}

/**
 * Stores the progress of this attempt; false if it must stop: cancelled, or another attempt has
 * begun.
 */
export async function progressExport(
  tx: WriterTx,
  key: ExportAttempt,
  rowsDone: number,
  rowsTotal: number | null,
): Promise<boolean> {
  return hasRow(tx)`UPDATE exports
    SET rows_done = ${rowsDone}, rows_total = coalesce(rows_total, ${rowsTotal})
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id} AND attempt = ${key.attempt}
      AND status = 'running'`;
}

/** This attempt has failed; another one follows. */
export async function requeueExport(
  tx: WriterTx,
  key: ExportAttempt,
  failure: Failure,
): Promise<void> {
  await execute(tx)`UPDATE exports SET status = 'queued', failure = ${failure}
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id} AND attempt = ${key.attempt}
      AND status = 'running'`;
}

export interface FinishedFile {
  rows: number;
  bytes: number;
  sha256: Uint8Array;
}

/** The file is complete; null if the export has ended otherwise meanwhile. */
export async function finishExport(
  tx: WriterTx,
  key: ExportKey,
  file: FinishedFile,
  finishedAtMs: number,
  expiresAtMs: number | null,
): Promise<ExportRow | null> {
  return firstRow<ExportRow>(tx)`UPDATE exports
    SET status = 'ready', rows_done = ${file.rows}, rows_total = ${file.rows},
      bytes = ${file.bytes}, sha256 = ${file.sha256}, finished_at = ${new Date(finishedAtMs)},
      expires_at = ${dateOrNull(expiresAtMs)}, failure = NULL
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id} AND status = 'running'
    RETURNING ${columns}`;
}

/** How much of a file was made or sent. */
export type PartOfFile = Pick<FinishedFile, 'rows' | 'bytes'>;

/**
 * Ends an export without a file; null if it has ended already. Keeps an earlier failure. `sent` is
 * what a receiver got before it closed the connection.
 */
export async function endExport(
  tx: WriterTx,
  key: ExportKey,
  end: { status: 'failed'; failure: Failure } | { status: 'cancelled'; failure: null },
  finishedAtMs: number,
  sent: PartOfFile | null = null,
): Promise<ExportRow | null> {
  return firstRow<ExportRow>(tx)`UPDATE exports
    SET status = ${end.status}, failure = coalesce(failure, ${end.failure}),
      finished_at = ${new Date(finishedAtMs)}, rows_done = coalesce(${sent?.rows ?? null},
      rows_done), bytes = coalesce(${sent?.bytes ?? null}, bytes)
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id} AND status IN ('queued', 'running')
    RETURNING ${columns}`;
}

export async function setNotified(
  tx: WriterTx,
  key: ExportKey,
  notified: readonly string[],
  notice: string | null,
): Promise<void> {
  await execute(tx)`UPDATE exports SET notified = ${notified}, notice = ${notice}
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id}`;
}

/**
 * Expires files, and returns every object to remove: theirs, and leftovers of failed and cancelled
 * exports. Spans tenants.
 */
export async function expireExports(
  tx: WriterTx,
  nowMs: number,
  leftBeforeMs: number,
  max: number,
): Promise<ExportFile[]> {
  const due = await rowsOf<ExportFile>(tx)`
    SELECT tenant_id AS "tenantId", id, format FROM exports
    WHERE stored AND finished_at IS NOT NULL
      AND CASE WHEN status IN ('failed', 'cancelled') THEN finished_at <= ${new Date(leftBeforeMs)}
        ELSE expires_at <= ${new Date(nowMs)} END
    ORDER BY finished_at LIMIT ${max}`;
  for (const { tenantId, id } of due) {
    await execute(tx)`UPDATE exports SET status = 'expired'
      WHERE tenant_id = ${tenantId} AND id = ${id} AND status = 'ready'`;
  }
  return due;
}

export async function objectRemoved(tx: WriterTx, key: ExportKey): Promise<void> {
  await execute(tx)`UPDATE exports SET stored = false
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id}`;
}

export async function keepStream(tx: WriterTx, key: ExportKey, nowMs: number): Promise<void> {
  await execute(tx)`UPDATE exports SET alive_at = ${new Date(nowMs)}
    WHERE tenant_id = ${key.tenantId} AND id = ${key.id}`;
}

/** Exports whose sending process has crashed: not updated since. Spans tenants. */
export async function lostStreams(
  tx: WriterTx,
  sinceMs: number,
  max: number,
): Promise<ExportKey[]> {
  return rowsOf<ExportKey>(tx)`SELECT tenant_id AS "tenantId", id FROM exports
    WHERE status = 'running' AND mode = 'stream' AND coalesce(alive_at,
      created_at) <= ${new Date(sinceMs)} LIMIT ${max}`;
}
