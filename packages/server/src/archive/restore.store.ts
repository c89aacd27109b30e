import { isLate, lateClass, uuidTimeMs } from '@indelible/protocol';
import type { ArchivedRow } from '../cold/archived-row.ts';
import { insertEvents } from '../events/event-columns.store.ts';
import { partitionsOf } from '../events/partitions.ts';
import { storedOpeners } from '../events/prepared-event.ts';
import { mayPause, type WriterTx } from '../postgres/db.ts';
import { attachingLate, makePartitions } from '../postgres/partitions.store.ts';
import { execute, hasRow } from '../postgres/sql.ts';
import type { ArchiveManifest } from './manifest.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * Whether the service has neither tenants nor logs; prevents new ones until the transaction ends.
 */
export async function holdEmpty(tx: WriterTx): Promise<boolean> {
  await tx.query('LOCK TABLE tenants, log_heads IN EXCLUSIVE MODE');
  // Downloads between two statements may take long.
  await mayPause(tx);
  return hasRow(tx)`SELECT
    WHERE NOT EXISTS (SELECT 1 FROM tenants) AND NOT EXISTS (SELECT 1 FROM log_heads)`;
}

export async function insertRestoredTenant(
  tx: WriterTx,
  { tenantId, tenant }: ArchiveManifest,
  nowMs: number,
): Promise<void> {
  const { name, plan, locale, timeZone, legalHold } = tenant;
  const now = new Date(nowMs);
  await execute(tx)`
    INSERT INTO tenants (id, name, plan, locale, time_zone, legal_hold, created_at, updated_at)
    VALUES (${tenantId}, ${name}, ${plan}, ${locale}, ${timeZone}, ${legalHold}, ${now}, ${now})`;
}

/** For a hold that is known only after the log's own records were read. */
export async function setLegalHold(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`UPDATE tenants SET legal_hold = true WHERE id = ${tenantId}`;
}

/** Gives the log its published id, which the published rounds contain. */
export async function setLogId(tx: WriterTx, tenantId: string, logId: string): Promise<void> {
  await execute(tx)`UPDATE log_heads SET log_id = ${logId} WHERE tenant_id = ${tenantId}`;
}

/** Inserts events unchanged, and makes their partitions. */
export async function insertRestored(
  tx: WriterTx,
  rows: readonly ArchivedRow[],
  retentionClass: number,
): Promise<void> {
  const whole = rows.flatMap(({ body, ...row }) => (body === null ? [] : [{ ...row, ...body }]));
  if (whole.length === 0) return;
  const inserted = whole.map((row) => {
    const late = isLate(uuidTimeMs(row.uuid), row.receivedAtUs / 1_000);
    return { ...row, retentionClass: late ? lateClass : retentionClass, ...storedOpeners(row) };
  });
  await attachingLate(tx, () => makePartitions(tx, partitionsOf(inserted)));
  const added = await insertEvents(tx, inserted);
  if (added < inserted.length) throw new Error('an event of the archive is stored already');
}
