import { firstRow, type TenantTx, type WriterTx } from '../postgres/index.ts';
import type { TenantSettings } from './tenant-settings.ts';

/** A stored tenant, without its restore secret. */
export interface TenantRow extends TenantSettings {
  id: string;
  createdAtMs: number;
  updatedAtMs: number;
  /** When its log was closed by offboarding. */
  closedAtMs?: number | null;
}

const columns = `id, name, plan, locale, time_zone AS "timeZone", notify_emails AS "notifyEmails",
  digest, restore_url AS "restoreUrl", legal_hold AS "legalHold",
  created_at AS "createdAtMs", updated_at AS "updatedAtMs",
  closed_at AS "closedAtMs"`;

const tenants = 'tenants LEFT JOIN log_heads ON tenant_id = id';

/** The tenant of this transaction, or null. */
export async function getTenant(tx: TenantTx): Promise<TenantRow | null> {
  return firstRow<TenantRow>(tx, {
    name: 'get-tenant',
    text: `SELECT ${columns} FROM ${tenants} WHERE id = $1`,
    values: [tx.tenantId],
  });
}

/** Tenants by id, from this one on. Administration: spans tenants. */
export async function listTenants(tx: WriterTx, from: string, count: number): Promise<TenantRow[]> {
  const { rows } = await tx.query<TenantRow>({
    name: 'list-tenants',
    text: `SELECT ${columns} FROM ${tenants} WHERE id >= $1 ORDER BY id LIMIT $2`,
    values: [from, count],
  });
  return rows;
}

/** Whether the tenant exists; tenants are never deleted. */
export async function tenantExists(tx: WriterTx, id: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'tenant-exists',
    text: 'SELECT 1 FROM tenants WHERE id = $1',
    values: [id],
  });
  return rowCount === 1;
}

/** The tenant, locked against other changes until the transaction ends, or null. */
export async function lockTenant(tx: WriterTx, id: string): Promise<TenantRow | null> {
  return firstRow<TenantRow>(tx, {
    name: 'lock-tenant',
    text: `SELECT ${columns} FROM ${tenants} WHERE id = $1 FOR NO KEY UPDATE OF tenants`,
    values: [id],
  });
}

/** False if another transaction created it first, which has committed by then. */
export async function insertTenant(tx: WriterTx, tenant: TenantRow): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'insert-tenant',
    text: `INSERT INTO tenants (id, name, plan, locale, time_zone, notify_emails, digest, restore_url, legal_hold,
        created_at, updated_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
    values: [...settingValues(tenant), new Date(tenant.createdAtMs), new Date(tenant.updatedAtMs)],
  });
  return rowCount === 1;
}

/** Replaces every setting of a locked tenant; other digests begin with their running period. */
export async function updateTenant(tx: WriterTx, tenant: TenantRow): Promise<void> {
  await tx.query({
    name: 'update-tenant',
    text: `UPDATE tenants SET name = $2, plan = $3, locale = $4, time_zone = $5, notify_emails = $6,
        digests_until = CASE WHEN digest = $7 THEN digests_until END, digest = $7,
        restore_url = $8, legal_hold = $9, updated_at = $10 WHERE id = $1`,
    values: [...settingValues(tenant), new Date(tenant.updatedAtMs)],
  });
}

function settingValues(tenant: TenantRow): unknown[] {
  const { id, name, plan, locale, timeZone, notifyEmails, digest, restoreUrl, legalHold } = tenant;
  return [id, name, plan, locale, timeZone, notifyEmails, digest, restoreUrl, legalHold];
}

/** Stores the encrypted secret of restore calls, or (null) deletes it. */
export async function setRestoreSecret(
  tx: WriterTx,
  id: string,
  sealed: Uint8Array | null,
): Promise<void> {
  await tx.query({
    name: 'set-restore-secret',
    text: 'UPDATE tenants SET restore_secret = $2 WHERE id = $1',
    values: [id, sealed],
  });
}
