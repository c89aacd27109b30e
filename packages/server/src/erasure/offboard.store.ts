import { lateClass, nilUuid } from '@indelible/protocol';
import type { WriterTx } from '../postgres/index.ts';
import type { Owner } from '../retention/index.ts';
import { removeAllWords } from '../words/index.ts';
import type { BundleFacts } from './erasure-event.ts';

/* Statements of the owner role: no serving role may run them. */

/** What was removed of an offboarded tenant. */
export interface RemovedCounts {
  events: number;
  apiKeys: number;
  sessions: number;
  viewerLinks: number;
  searches: number;
  restores: number;
  webhooks: number;
  exports: number;
}

/** A finished or unfinished offboarding. */
export interface Offboarding {
  tenantId: string;
  /** Of the log: every event below it is removed. */
  size: number;
  /** Sequence of its record. */
  record: number;
  reason: string;
  bundle: BundleFacts;
  counts: RemovedCounts;
  closedAtMs: number;
  finishedAtMs: number | null;
}

type Row = Omit<Offboarding, 'bundle' | 'counts'> & { bundle: string; counts: string };

export async function readOffboarding(owner: Owner, tenantId: string): Promise<Offboarding | null> {
  const { rows } = await owner.query<Row>(
    `SELECT tenant_id AS "tenantId", size, record, reason, bundle, counts, closed_at AS "closedAtMs",
       finished_at AS "finishedAtMs" FROM offboardings WHERE tenant_id = $1`,
    [tenantId],
  );
  const [row] = rows;
  return row ? { ...row, bundle: JSON.parse(row.bundle), counts: JSON.parse(row.counts) } : null;
}

export async function insertOffboarding(tx: WriterTx, offboarding: Offboarding): Promise<void> {
  const { tenantId, size, record, reason, bundle, counts, closedAtMs } = offboarding;
  await tx.query(
    `INSERT INTO offboardings (tenant_id, size, record, reason, bundle, counts, closed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      ...[tenantId, size, record, reason, JSON.stringify(bundle), JSON.stringify(counts)],
      new Date(closedAtMs),
    ],
  );
}

export async function finishOffboarding(
  tx: WriterTx,
  tenantId: string,
  atMs: number,
): Promise<void> {
  await tx.query('UPDATE offboardings SET finished_at = $2 WHERE tenant_id = $1', [
    tenantId,
    new Date(atMs),
  ]);
}

/** From now on the log accepts only the service's own records. The head is locked. */
export async function closeLog(tx: WriterTx, tenantId: string, atMs: number): Promise<void> {
  await tx.query('UPDATE log_heads SET closed_at = $2 WHERE tenant_id = $1', [
    tenantId,
    new Date(atMs),
  ]);
}

/**
 * The tenant's events: their number, the newest id, and how many producers recorded since `from`.
 */
export async function eventFacts(
  tx: WriterTx,
  tenantId: string,
  from: number,
): Promise<{ count: number; newest: string | null; since: number }> {
  const { rows } = await tx.query<{ count: number; newest: string | null; since: number }>(
    `SELECT count(*) FILTER (WHERE retention_class = ${lateClass}
         OR id >= coalesce((SELECT cold_before FROM tenants WHERE id = $1), '${nilUuid}')) AS count,
       max(id::text)::uuid AS newest,
       count(*) FILTER (WHERE sequence >= $2 AND recorded_by_kind <> 'service') AS since
     FROM audit_events WHERE tenant_id = $1`,
    [tenantId, from],
  );
  return rows[0] ?? { count: 0, newest: null, since: 0 };
}

const tablesOfTenant = {
  apiKeys: 'api_keys',
  sessions: 'sessions',
  viewerLinks: 'viewer_links',
  searches: 'searches',
  restores: 'restores',
  webhooks: 'webhooks',
} as const;

/** Removes a tenant's data besides events and files, and its contact settings. */
export async function removeBelongings(
  tx: WriterTx,
  tenantId: string,
  atMs: number,
): Promise<Omit<RemovedCounts, 'events'>> {
  await tx.query(
    `UPDATE tenants SET notify_emails = '{}', restore_url = NULL, restore_secret = NULL WHERE id = $1`,
    [tenantId],
  );
  for (const table of ['former_emails', 'sources', 'views', 'alert_cursors', 'alert_rules']) {
    await tx.query(`DELETE FROM ${table} WHERE tenant_id = $1`, [tenantId]);
  }
  const counts: [string, number][] = [];
  for (const [name, table] of Object.entries(tablesOfTenant)) {
    const { rowCount } = await tx.query(`DELETE FROM ${table} WHERE tenant_id = $1`, [tenantId]);
    counts.push([name, rowCount ?? 0]);
  }
  await tx.query('DELETE FROM jobs WHERE tenant_id = $1', [tenantId]);
  // Their rows are deleted after their files.
  const { rowCount: exports } = await tx.query(
    `UPDATE exports SET status = CASE WHEN finished_at IS NULL THEN 'cancelled' ELSE status END,
       finished_at = coalesce(finished_at, $2) WHERE tenant_id = $1`,
    [tenantId, new Date(atMs)],
  );
  return { ...Object.fromEntries(counts), exports: exports ?? 0 } as Omit<RemovedCounts, 'events'>;
}

const batchRows = 5_000;

/** Removes a batch of the tenant's events below `size`; returns how many. */
export async function removeEvents(tx: WriterTx, tenantId: string, size: number): Promise<number> {
  const { rowCount } = await tx.query(
    `DELETE FROM audit_events e USING
       (SELECT retention_class, id FROM audit_events WHERE tenant_id = $1 AND sequence < $2
        LIMIT ${batchRows}) b
     WHERE e.tenant_id = $1 AND e.retention_class = b.retention_class AND e.id = b.id`,
    [tenantId, size],
  );
  return rowCount ?? 0;
}

/** The remaining rows of exports and erasures, and the words of the removed events. */
export async function removeRest(tx: WriterTx, tenantId: string): Promise<void> {
  await removeAllWords(tx, tenantId);
  await tx.query('DELETE FROM exports WHERE tenant_id = $1', [tenantId]);
  await tx.query('DELETE FROM erasures WHERE tenant_id = $1', [tenantId]);
}
