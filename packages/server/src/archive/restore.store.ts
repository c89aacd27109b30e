import { type CommittedEvent, uuidTimeMs } from '@indelible/protocol';
import { makePartitions, storedOpeners } from '../events/store.ts';
import type { WriterTx } from '../postgres/db.ts';
import {
  boolArray,
  byteaArray,
  int2Array,
  int8Array,
  jsonArray,
  textArray,
  timeArray,
  uuidArray,
} from '../postgres/pg-arrays.ts';
import type { ArchivedRow } from './archived-row.ts';
import type { ArchiveManifest } from './manifest.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * Whether the service has neither tenants nor logs, and keeps others from making any until the end.
 */
export async function holdEmpty(tx: WriterTx): Promise<boolean> {
  await tx.query('LOCK TABLE tenants, log_heads IN EXCLUSIVE MODE');
  const { rows } = await tx.query<{ empty: boolean }>(
    'SELECT NOT EXISTS (SELECT FROM tenants) AND NOT EXISTS (SELECT FROM log_heads) AS empty',
  );
  // What is fetched from a distant store between two statements takes as long as it takes.
  await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  return rows[0]?.empty === true;
}

export async function insertRestoredTenant(
  tx: WriterTx,
  { tenantId, tenant }: ArchiveManifest,
  nowMs: number,
): Promise<void> {
  const { name, plan, locale, timeZone, legalHold } = tenant;
  await tx.query(
    `INSERT INTO tenants (id, name, plan, locale, time_zone, legal_hold, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
    [tenantId, name, plan, locale, timeZone, legalHold, new Date(nowMs)],
  );
}

/** For a hold that is known only when the log's own records have been read. */
export async function setLegalHold(tx: WriterTx, tenantId: string): Promise<void> {
  await tx.query('UPDATE tenants SET legal_hold = true WHERE id = $1', [tenantId]);
}

/** Gives the log the id it was published under, by which published rounds know it. */
export async function setLogId(tx: WriterTx, tenantId: string, logId: string): Promise<void> {
  await tx.query('UPDATE log_heads SET log_id = $2 WHERE tenant_id = $1', [tenantId, logId]);
}

/** Inserts events as they were, and the partitions that hold them. */
export async function insertRestored(
  tx: WriterTx,
  rows: readonly ArchivedRow[],
  retentionClass: number,
): Promise<void> {
  const whole = rows.flatMap(({ body, ...row }) => (body === null ? [] : [{ ...row, ...body }]));
  if (whole.length === 0) return;
  const months = new Map(
    whole.map(({ uuid }) => {
      const timeMs = uuidTimeMs(uuid);
      return [new Date(timeMs).toISOString().slice(0, 7), { retentionClass, timeMs }];
    }),
  );
  await makePartitions(tx, [...months.values()]);
  const openers = whole.map(storedOpeners);
  const of = <T>(pick: (event: CommittedEvent) => T): T[] => whole.map(({ event }) => pick(event));
  await tx.query({
    name: 'restore-events',
    text: `INSERT INTO audit_events (tenant_id, id, sequence, received_at, actor_id, resource_id,
        recorded_by_id, retention_class, cross_tenant, recorded_by_kind, actor_email, actor_email_key,
        actor_role, actor_ip, actor_user_agent, action, resource_type, resource_name, category, reason,
        diff, before, after, salts, erased)
      SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int8[], $4::timestamptz[], $5::uuid[], $6::uuid[],
        $7::uuid[], $8::int2[], $9::bool[], $10::text[], $11::text[], $12::text[],
        $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],
        $21::json[], $22::json[], $23::json[], $24::bytea[], $25::json[])`,
    values: [
      uuidArray(of((e) => e.tenantId)),
      uuidArray(of((e) => e.uuid)),
      int8Array(whole.map(({ sequence }) => sequence)),
      timeArray(whole.map(({ receivedAtUs }) => receivedAtUs)),
      uuidArray(of((e) => e.actorId)),
      uuidArray(of((e) => e.resourceId)),
      uuidArray(of((e) => e.recordedById)),
      int2Array(whole.map(() => retentionClass)),
      boolArray(of((e) => e.crossTenant)),
      textArray(of((e) => e.recordedByKind)),
      textArray(of((e) => e.actorEmail)),
      textArray(of((e) => (e.actorEmail ?? '').toLowerCase())),
      textArray(of((e) => e.actorRole)),
      textArray(of((e) => e.actorIp)),
      textArray(of((e) => e.actorUserAgent)),
      textArray(of((e) => e.action)),
      textArray(of((e) => e.resourceType)),
      textArray(of((e) => e.resourceName)),
      textArray(of((e) => e.category)),
      textArray(of((e) => e.reason)),
      jsonArray(of((e) => e.diff)),
      jsonArray(of((e) => e.before)),
      jsonArray(of((e) => e.after)),
      byteaArray(openers.map(({ salts }) => salts)),
      jsonArray(openers.map(({ erased }) => erased)),
    ],
  });
}
