import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { textArray } from '../postgres/pg-arrays.ts';
import { execute, firstRow, hasRow, rowsOf, sql } from '../postgres/sql.ts';
import type { TenantSettings } from './tenant-settings.ts';

/** A stored tenant, without its restore secret. */
export interface TenantRow extends TenantSettings {
  id: string;
  /** The host's own id, from which `id` is derived; null: the host names it by the UUID. */
  externalId: string | null;
  createdAtMs: number;
  updatedAtMs: number;
  /** When its log was closed: the tenant was offboarded or abandoned. */
  closedAtMs?: number | null;
}

const columns = sql`id, external_id AS "externalId", name, plan, locale, time_zone AS "timeZone", notify_emails AS "notifyEmails",
  digest, restore_url AS "restoreUrl", legal_hold AS "legalHold",
  created_at AS "createdAtMs", updated_at AS "updatedAtMs",
  closed_at AS "closedAtMs"`;

const tenants = sql`tenants LEFT JOIN log_heads ON tenant_id = id`;

/** The tenant of this transaction, or null. */
export async function getTenant(tx: TenantTx): Promise<TenantRow | null> {
  return firstRow<TenantRow>(tx)`SELECT ${columns} FROM ${tenants}
    WHERE id = ${tx.tenantId}`;
}

/** Tenants by id, from this one on. Administration: spans tenants. */
export async function listTenants(tx: WriterTx, from: string, count: number): Promise<TenantRow[]> {
  return rowsOf<TenantRow>(tx)`SELECT ${columns} FROM ${tenants}
    WHERE id >= ${from} ORDER BY id LIMIT ${count}`;
}

/** Whether the tenant exists; tenants are never deleted. */
export async function tenantExists(tx: WriterTx, id: string): Promise<boolean> {
  return hasRow(tx)`SELECT 1 FROM tenants WHERE id = ${id}`;
}

/** The tenant, locked against other changes until the transaction ends, or null. */
export async function lockTenant(tx: WriterTx, id: string): Promise<TenantRow | null> {
  return firstRow<TenantRow>(tx)`SELECT ${columns} FROM ${tenants} WHERE id = ${id}
    FOR NO KEY UPDATE OF tenants`;
}

/** False if another transaction created it first, which has committed by then. */
export async function insertTenant(tx: WriterTx, tenant: TenantRow): Promise<boolean> {
  const { id, externalId, name, plan, locale, timeZone, notifyEmails, digest, restoreUrl } = tenant;
  return hasRow(tx)`
    INSERT INTO tenants (id, external_id, name, plan, locale, time_zone, notify_emails, digest,
      restore_url, legal_hold, created_at, updated_at)
    VALUES (${id}, ${externalId}, ${name}, ${plan}, ${locale}, ${timeZone}, ${notifyEmails}, ${digest},
      ${restoreUrl}, ${tenant.legalHold}, ${new Date(tenant.createdAtMs)},
      ${new Date(tenant.updatedAtMs)}) ON CONFLICT DO NOTHING`;
}

/**
 * Replaces every setting of a locked tenant; other digests begin with their running period. Grants
 * the grace of events that a smaller plan or a lifted hold hides. A second change adds its own, and
 * shortens none.
 */
export async function updateTenant(tx: WriterTx, tenant: TenantRow): Promise<void> {
  const { id, name, plan, locale, timeZone, notifyEmails, digest, restoreUrl, legalHold } = tenant;
  const updatedAt = new Date(tenant.updatedAtMs);
  await execute(tx)`SELECT change_terms(${id}, ${plan}, ${legalHold}, ${updatedAt})`;
  await execute(tx)`UPDATE tenants
    SET external_id = ${tenant.externalId}, name = ${name}, locale = ${locale}, time_zone = ${timeZone},
      notify_emails = ${notifyEmails}, restore_url = ${restoreUrl}, digest = ${digest},
      digests_until = CASE WHEN digest = ${digest} THEN digests_until END, updated_at = ${updatedAt}
    WHERE id = ${id}`;
}

/** Whether a producer recorded an event within five minutes of its timestamp: no import did. */
export async function hasLiveEvents(tx: WriterTx, tenantId: string): Promise<boolean> {
  return hasRow(tx)`SELECT FROM audit_events
    WHERE tenant_id = ${tenantId} AND recorded_by_kind <> 'service'
      AND received_at <= to_timestamp((('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint
        + 300000) / 1000.0) LIMIT 1`;
}

/** From now on the log takes only the service's own records. */
export async function closeTenantLog(tx: WriterTx, id: string, atMs: number): Promise<void> {
  await execute(tx)`SELECT close_log(${id}, ${new Date(atMs)})`;
}

/** Stores the encrypted secret of restore calls, or (null) deletes it. */
export async function setRestoreSecret(
  tx: WriterTx,
  id: string,
  sealed: Uint8Array | null,
): Promise<void> {
  await execute(tx)`UPDATE tenants SET restore_secret = ${sealed} WHERE id = ${id}`;
}

/** Stores removed addresses, which still get notices until then. */
export async function keepFormerEmails(
  tx: WriterTx,
  tenantId: string,
  emails: readonly string[],
  untilMs: number,
): Promise<void> {
  await execute(tx)`
    INSERT INTO former_emails (tenant_id, email, until) SELECT ${tenantId}, email,
      ${new Date(untilMs)} FROM unnest(${textArray(emails)}::text[]) email
    ON CONFLICT (tenant_id, email) DO UPDATE SET until = excluded.until`;
}

/** The removed addresses that still get notices; deletes those whose time is over. */
export async function formerEmails(
  tx: WriterTx,
  tenantId: string,
  nowMs: number,
): Promise<string[]> {
  await execute(tx)`DELETE FROM former_emails
    WHERE tenant_id = ${tenantId} AND until <= ${new Date(nowMs)}`;
  const rows = await rowsOf<{ email: string }>(tx)`SELECT email FROM former_emails
    WHERE tenant_id = ${tenantId} ORDER BY email`;
  return rows.map(({ email }) => email);
}
