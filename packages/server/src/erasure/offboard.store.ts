import type { Queries, WriterTx } from '../postgres/db.ts';
import { execute, firstRow, raw } from '../postgres/sql.ts';
import { removeAllWords } from '../words/forget-words.ts';
import type { BundleFacts } from './erasure-event.ts';

/* Statements of the owner role: no serving role may run them. */

const tablesOfTenant = {
  apiKeys: 'api_keys',
  sessions: 'sessions',
  viewerLinks: 'viewer_links',
  searches: 'searches',
  restores: 'restores',
  webhooks: 'webhooks',
} as const;

type RemovedCounts = Record<'events' | 'exports' | keyof typeof tablesOfTenant, number>;

export interface Offboarding {
  tenantId: string;
  /** The size of the log: every event below it is removed. */
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

export async function readOffboarding(
  owner: Queries,
  tenantId: string,
): Promise<Offboarding | null> {
  const row = await firstRow<Row>(owner)`
    SELECT tenant_id AS "tenantId", size, record, reason, bundle, counts, closed_at AS "closedAtMs",
      finished_at AS "finishedAtMs" FROM offboardings WHERE tenant_id = ${tenantId}`;
  return row && { ...row, bundle: JSON.parse(row.bundle), counts: JSON.parse(row.counts) };
}

export async function insertOffboarding(tx: WriterTx, offboarding: Offboarding): Promise<void> {
  const { tenantId, size, record, reason, bundle, counts, closedAtMs } = offboarding;
  await execute(tx)`
    INSERT INTO offboardings (tenant_id, size, record, reason, bundle, counts, closed_at)
    VALUES (${tenantId}, ${size}, ${record}, ${reason}, ${JSON.stringify(bundle)},
      ${JSON.stringify(counts)}, ${new Date(closedAtMs)})`;
}

export async function finishOffboarding(
  tx: WriterTx,
  tenantId: string,
  atMs: number,
): Promise<void> {
  await execute(tx)`UPDATE offboardings SET finished_at = ${new Date(atMs)}
    WHERE tenant_id = ${tenantId}`;
}

/** From now on the log accepts only the service's own records. The head is locked. */
export async function closeLog(tx: WriterTx, tenantId: string, atMs: number): Promise<void> {
  await execute(tx)`UPDATE log_heads SET closed_at = ${new Date(atMs)}
    WHERE tenant_id = ${tenantId}`;
}

/**
 * The tenant's events: their number, the newest id, and how many producers recorded since `from`.
 */
export async function eventFacts(
  tx: WriterTx,
  tenantId: string,
  from: number,
): Promise<{ count: number; newest: string | null; since: number }> {
  const row = await firstRow<{ count: number; newest: string | null; since: number }>(tx)`
    SELECT count(*) AS count, max(id::text)::uuid AS newest,
      count(*) FILTER (WHERE sequence >= ${from} AND recorded_by_kind <> 'service') AS since
    FROM audit_events WHERE tenant_id = ${tenantId}`;
  return row ?? { count: 0, newest: null, since: 0 };
}

/** Removes a tenant's data besides events and files, and its contact settings. */
export async function removeBelongings(
  tx: WriterTx,
  tenantId: string,
  atMs: number,
): Promise<Omit<RemovedCounts, 'events'>> {
  await execute(tx)`UPDATE tenants
    SET notify_emails = '{}', restore_url = NULL, restore_secret = NULL WHERE id = ${tenantId}`;
  for (const table of [
    ...[
      'former_emails',
      'mail_recipients',
      'source_gaps',
      'sources',
      'views',
      'alert_cursors',
      'alert_rules',
    ],
  ]) {
    await execute(tx)`DELETE FROM ${raw(table)} WHERE tenant_id = ${tenantId}`;
  }
  const counts: [string, number][] = [];
  for (const [name, table] of Object.entries(tablesOfTenant)) {
    const count = await execute(tx)`DELETE FROM ${raw(table)} WHERE tenant_id = ${tenantId}`;
    counts.push([name, count]);
  }
  await execute(tx)`DELETE FROM jobs WHERE tenant_id = ${tenantId}`;
  // Their rows are deleted after their files.
  const exports = await execute(tx)`
    UPDATE exports SET status = CASE WHEN finished_at IS NULL THEN 'cancelled' ELSE status END,
    finished_at = coalesce(finished_at, ${new Date(atMs)}) WHERE tenant_id = ${tenantId}`;
  return { ...Object.fromEntries(counts), exports } as Omit<RemovedCounts, 'events'>;
}

const batchRows = 5_000;

/** Removes a batch of the tenant's events below `size`; returns how many. */
export async function removeEvents(tx: WriterTx, tenantId: string, size: number): Promise<number> {
  return execute(tx)`DELETE FROM audit_events e USING
      (SELECT retention_class, id FROM audit_events WHERE tenant_id = ${tenantId}
        AND sequence < ${size}
       LIMIT ${batchRows}) b
    WHERE e.tenant_id = ${tenantId} AND e.retention_class = b.retention_class AND e.id = b.id`;
}

/** The remaining rows of exports and erasures, and the words of the removed events. */
export async function removeRest(tx: WriterTx, tenantId: string): Promise<void> {
  await removeAllWords(tx, tenantId);
  await execute(tx)`DELETE FROM exports WHERE tenant_id = ${tenantId}`;
  await execute(tx)`DELETE FROM erasures WHERE tenant_id = ${tenantId}`;
}
