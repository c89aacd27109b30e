import type { TenantTx, WriterTx } from '../postgres/index.ts';

/** A source as the tenant sees it. */
export interface Source {
  id: string;
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
  const sources = await tx.query<Source>({
    name: 'list-sources',
    text: `SELECT id, last_sequence AS "lastSequence", first_received_at AS "firstReceivedMs",
        last_received_at AS "lastReceivedMs", gaps_dropped_at AS "gapsDroppedMs",
        silent_since IS NOT NULL AND last_received_at = max(last_received_at)
          OVER (PARTITION BY split_part(id, '/', 1)) AS silent
      FROM sources WHERE tenant_id = $1 ORDER BY id`,
    values: [tx.tenantId],
  });
  const gaps = await tx.query<Gap & { sourceId: string }>({
    name: 'list-source-gaps',
    text: `SELECT source_id AS "sourceId", ${gapColumns} FROM source_gaps WHERE tenant_id = $1
      ORDER BY source_id, first_sequence`,
    values: [tx.tenantId],
  });
  const bySource = Map.groupBy(gaps.rows, ({ sourceId }) => sourceId);
  return sources.rows.map((source) => ({ ...source, gaps: bySource.get(source.id) ?? [] }));
}

const gapColumns = `first_sequence AS "from", last_sequence AS "to", after_at AS "afterMs",
  noticed_at AS "noticedMs"`;

/** Tenants whose logs lack a record of an open gap or of a silent source. */
export async function tenantsToTell(
  tx: Pick<WriterTx, 'query'>,
  noticedBeforeMs: number,
  receivedBeforeMs: number,
): Promise<string[]> {
  const { rows } = await tx.query<{ tenantId: string }>({
    name: 'tenants-to-tell-of-sources',
    text: `SELECT DISTINCT tenant_id AS "tenantId" FROM (
        SELECT tenant_id FROM source_gaps WHERE told_at IS NULL AND noticed_at <= $1
        UNION ALL SELECT tenant_id FROM sources WHERE silent_since IS NULL AND last_received_at <= $2
          AND last_received_at + 2 * longest_pause <= $3) AS due
      JOIN log_heads USING (tenant_id) WHERE closed_at IS NULL`,
    values: [new Date(noticedBeforeMs), new Date(receivedBeforeMs), new Date(noticedBeforeMs)],
  });
  return rows.map(({ tenantId }) => tenantId);
}

/** Marks the tenant's gaps noticed until then as told, and returns those that were not yet. */
export async function takeUntoldGaps(
  tx: WriterTx,
  tenantId: string,
  noticedBeforeMs: number,
  nowMs: number,
): Promise<(Gap & { sourceId: string })[]> {
  const { rows } = await tx.query<Gap & { sourceId: string }>({
    name: 'take-untold-gaps',
    text: `UPDATE source_gaps SET told_at = $3
      WHERE tenant_id = $1 AND told_at IS NULL AND noticed_at <= $2
      RETURNING source_id AS "sourceId", ${gapColumns}`,
    values: [tenantId, new Date(noticedBeforeMs), new Date(nowMs)],
  });
  return rows.sort((one, other) => one.from - other.from);
}

export interface Silence {
  sourceId: string;
  lastSequence: number;
  lastReceivedMs: number;
  /** Another instance of the source has sent since. */
  isReplaced: boolean;
}

/**
 * Marks the tenant's sources that have sent nothing since then, nor for twice their longest pause
 * so far, as silent; returns them. The head of its log is locked.
 */
export async function takeSilentSources(
  tx: WriterTx,
  tenantId: string,
  receivedBeforeMs: number,
  nowMs: number,
): Promise<Silence[]> {
  const { rows } = await tx.query<Silence>({
    name: 'silent-sources',
    text: `SELECT id AS "sourceId", last_sequence AS "lastSequence",
        last_received_at AS "lastReceivedMs",
        EXISTS (SELECT 1 FROM sources AS o WHERE o.tenant_id = s.tenant_id
          AND split_part(o.id, '/', 1) = split_part(s.id, '/', 1)
          AND o.last_received_at > s.last_received_at) AS "isReplaced"
      FROM sources AS s WHERE tenant_id = $1 AND silent_since IS NULL AND last_received_at <= $2
        AND last_received_at + 2 * longest_pause <= $3`,
    values: [tenantId, new Date(receivedBeforeMs), new Date(nowMs)],
  });
  await tx.query({
    name: 'mark-silent-sources',
    text: 'UPDATE sources SET silent_since = $3 WHERE tenant_id = $1 AND id = ANY ($2)',
    values: [tenantId, rows.map(({ sourceId }) => sourceId), new Date(nowMs)],
  });
  return rows;
}

export interface SourceCounts {
  gaps: number;
  silent: number;
}

/** Of all tenants: gaps that were told and are still open, and silent sources. */
export async function countSources(tx: Pick<WriterTx, 'query'>): Promise<SourceCounts> {
  const { rows } = await tx.query<SourceCounts>({
    name: 'count-sources',
    text: `SELECT (SELECT count(*) FROM source_gaps WHERE told_at IS NOT NULL) AS gaps,
      (SELECT count(*) FROM (SELECT 1 FROM sources GROUP BY tenant_id, split_part(id, '/', 1)
        HAVING bool_and(silent_since IS NOT NULL)) AS quiet) AS silent`,
  });
  return rows[0] ?? { gaps: 0, silent: 0 };
}
