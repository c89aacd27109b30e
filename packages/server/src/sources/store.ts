import type { Queries, TenantTx, WriterTx } from '../postgres/db.ts';
import { execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';

/** A source as the tenant sees it. */
export interface Source {
  id: string;
  /** The key that sends it; nil for a source of an earlier build that has sent nothing since. */
  keyId: string;
  lastSequence: number;
  firstReceivedMs: number;
  lastReceivedMs: number;
  silent: boolean;
  gaps: Gap[];
  /** Gaps may be missing from the list: one was dropped, or a number came twice, last then. */
  gapsDroppedMs: number | null;
}

/** Numbers that were not received: they lie between the receipts of their neighbours. */
export interface Gap {
  from: number;
  to: number;
  afterMs: number;
  noticedMs: number;
}

/** The tenant's sources by id, with their gaps by number. */
export async function listSources(tx: TenantTx): Promise<Source[]> {
  const sources = await rowsOf<Source>(tx)`
    SELECT id, key_id AS "keyId", last_sequence AS "lastSequence", first_received_at AS "firstReceivedMs",
      last_received_at AS "lastReceivedMs", gaps_dropped_at AS "gapsDroppedMs",
      silent_since IS NOT NULL AND last_received_at =
        max(last_received_at) OVER (PARTITION BY key_id, split_part(id, '/', 1)) AS silent
    FROM sources WHERE tenant_id = ${tx.tenantId} ORDER BY id, key_id`;
  const gaps = await rowsOf<SourceGap>(tx)`
    SELECT ${gapColumns} FROM source_gaps
    WHERE tenant_id = ${tx.tenantId} AND dropped_at = 'infinity' ORDER BY first_sequence`;
  const bySource = Map.groupBy(gaps, ({ keyId, sourceId }) => `${keyId} ${sourceId}`);
  return sources.map((source) => {
    return { ...source, gaps: bySource.get(`${source.keyId} ${source.id}`) ?? [] };
  });
}

export type SourceGap = Gap & Pick<Source, 'keyId'> & { sourceId: string };

const gapColumns = sql`source_id AS "sourceId", key_id AS "keyId", first_sequence AS "from", last_sequence AS "to", after_at AS "afterMs",
  noticed_at AS "noticedMs"`;

/** Tenants whose logs lack a record of an open gap or of a silent source. */
export async function tenantsToTell(
  tx: Queries,
  noticedBeforeMs: number,
  receivedBeforeMs: number,
): Promise<string[]> {
  const rows = await rowsOf<{ tenantId: string }>(tx)`
    SELECT DISTINCT tenant_id AS "tenantId" FROM (
      SELECT tenant_id FROM source_gaps WHERE told_at IS NULL
        AND (noticed_at <= ${new Date(noticedBeforeMs)} OR dropped_at < 'infinity')
      UNION ALL SELECT tenant_id FROM sources WHERE silent_since IS NULL
        AND last_received_at <= ${new Date(receivedBeforeMs)}
        AND last_received_at + 2 * longest_pause <= ${new Date(noticedBeforeMs)}) AS due
    JOIN log_heads USING (tenant_id) WHERE closed_at IS NULL`;
  return rows.map(({ tenantId }) => tenantId);
}

/** A report of so many gaps has 100 KiB; the next run tells more. */
const gapsAtOnce = 500;

/**
 * Marks gaps of the tenant as told, and returns them: those noticed until then, and those that were
 * dropped, which are told at once.
 */
export async function takeUntoldGaps(
  tx: WriterTx,
  tenantId: string,
  noticedBeforeMs: number,
  nowMs: number,
): Promise<SourceGap[]> {
  const rows = await rowsOf<SourceGap>(tx)`UPDATE source_gaps
    SET told_at = ${new Date(nowMs)}
    WHERE tenant_id = ${tenantId} AND (key_id, source_id, first_sequence, dropped_at) IN (
      SELECT key_id, source_id, first_sequence, dropped_at FROM source_gaps
      WHERE tenant_id = ${tenantId} AND told_at IS NULL
        AND (noticed_at <= ${new Date(noticedBeforeMs)} OR dropped_at < 'infinity')
      ORDER BY noticed_at, key_id, source_id, first_sequence LIMIT ${gapsAtOnce})
    RETURNING ${gapColumns}`;
  return rows.sort((one, other) => one.from - other.from);
}

export interface Silence {
  sourceId: string;
  keyId: string;
  lastSequence: number;
  lastReceivedMs: number;
  /** Another instance of the source has sent since. */
  isReplaced: boolean;
}

/**
 * Marks as silent the tenant's sources that have sent nothing since then, and for twice their
 * longest pause so far. Returns them. The head of its log is locked.
 */
export async function takeSilentSources(
  tx: WriterTx,
  tenantId: string,
  receivedBeforeMs: number,
  nowMs: number,
): Promise<Silence[]> {
  const rows = await rowsOf<Silence>(tx)`
    SELECT id AS "sourceId", key_id AS "keyId", last_sequence AS "lastSequence",
      last_received_at AS "lastReceivedMs",
      EXISTS (SELECT 1 FROM sources AS o WHERE o.tenant_id = s.tenant_id AND o.key_id = s.key_id
        AND split_part(o.id, '/', 1) = split_part(s.id, '/', 1)
        AND o.last_received_at > s.last_received_at) AS "isReplaced"
    FROM sources AS s WHERE tenant_id = ${tenantId} AND silent_since IS NULL
      AND last_received_at <= ${new Date(receivedBeforeMs)}
      AND last_received_at + 2 * longest_pause <= ${new Date(nowMs)}`;
  await execute(tx)`UPDATE sources SET silent_since = ${new Date(nowMs)}
    WHERE tenant_id = ${tenantId} AND (key_id, id) IN (SELECT * FROM unnest(
      ${rows.map(({ keyId }) => keyId)}::uuid[], ${rows.map(({ sourceId }) => sourceId)}::text[]))`;
  return rows;
}

export interface SourceCounts {
  gaps: number;
  silent: number;
}

/** Counts gaps of all tenants that were told and are still open, and silent sources. */
export async function countSources(tx: Queries): Promise<SourceCounts> {
  const row = await firstRow<SourceCounts>(tx)`
    SELECT (SELECT count(*) FROM source_gaps WHERE told_at IS NOT NULL
      AND dropped_at = 'infinity') AS gaps,
    (SELECT count(*) FROM (SELECT 1 FROM sources GROUP BY tenant_id, split_part(id, '/', 1)
      HAVING bool_and(silent_since IS NOT NULL)) AS quiet) AS silent`;
  return row ?? { gaps: 0, silent: 0 };
}
