import type { Plan } from '@indelible/protocol';
import { uuidArray, type WriterTx } from '../postgres/index.ts';
import type { RetentionTerms, SeenTime } from './schedule.ts';

/* Statements of the owner role: no serving role may run them. */

/** A connection of the owner's, within a transaction or without one. */
export type Owner = Pick<WriterTx, 'query'>;

export interface TenantTerms extends RetentionTerms {
  tenantId: string;
  name: string;
}

const columns = `id AS "tenantId", name, plan, legal_hold AS "legalHold", pro_until AS "proUntilMs",
  enterprise_until AS "enterpriseUntilMs", held_until AS "heldUntilMs"`;

/** What these tenants are owed, by tenant. */
export async function readTerms(
  owner: Owner,
  tenantIds: readonly string[],
): Promise<Map<string, TenantTerms>> {
  const { rows } = await owner.query<TenantTerms>(
    `SELECT ${columns} FROM tenants WHERE id = ANY ($1)`,
    [uuidArray(tenantIds)],
  );
  return new Map(rows.map((row) => [row.tenantId, row]));
}

/** What the tenant is owed, until the transaction ends: its plan and hold stay as they are. */
export async function lockTerms(tx: WriterTx, tenantId: string): Promise<TenantTerms | null> {
  const { rows } = await tx.query<TenantTerms>(
    `SELECT ${columns} FROM tenants WHERE id = $1 FOR NO KEY UPDATE`,
    [tenantId],
  );
  return rows[0] ?? null;
}

/** A tenant whose events lie in several classes. */
export interface UnsettledTenant {
  tenantId: string;
  plan: Plan;
  retentionClass: number;
  otherClasses: number[];
}

/** All of them, or this one if it is one. */
export async function unsettledTenants(
  owner: Owner,
  tenantId: string | null = null,
): Promise<UnsettledTenant[]> {
  const { rows } = await owner.query<UnsettledTenant>(
    `SELECT tenant_id AS "tenantId", plan, retention_class AS "retentionClass",
       other_classes AS "otherClasses"
     FROM log_heads JOIN tenants ON id = tenant_id
     WHERE other_classes <> '{}' AND ($1::uuid IS NULL OR tenant_id = $1) ORDER BY tenant_id`,
    [tenantId],
  );
  return rows;
}

/** Forgets that events of the tenant may lie in these classes; waits for its log's head. */
export async function leaveClasses(
  tx: WriterTx,
  tenantId: string,
  classes: readonly number[],
): Promise<void> {
  await tx.query(
    `UPDATE log_heads SET other_classes =
       (SELECT coalesce(array_agg(c ORDER BY c), '{}') FROM unnest(other_classes) c WHERE c <> ALL ($2::smallint[]))
     WHERE tenant_id = $1`,
    [tenantId, `{${classes.join(',')}}`],
  );
}

/** False while another process removes, moves or erases events; the lock ends with the session. */
export async function takeRetentionLock(owner: Owner): Promise<boolean> {
  const { rows } = await owner.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_lock(hashtext('indelible.retention')) AS taken`,
  );
  return rows[0]?.taken === true;
}

/** Before the session ends. */
export async function releaseRetentionLock(owner: Owner): Promise<void> {
  await owner.query(`SELECT pg_advisory_unlock(hashtext('indelible.retention'))`);
}

/** Until the transaction ends nobody's plan or hold changes: open_log asks for the same lock. */
export async function holdPlans(tx: WriterTx): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtext('indelible.plans'))`);
}

export async function readSeenTime(owner: Owner): Promise<SeenTime> {
  const { rows } = await owner.query<SeenTime>(
    'SELECT seen_at AS "seenMs", believed_at AS "believedMs" FROM retention_clock',
  );
  const [row] = rows;
  if (!row) throw new Error('the table retention_clock is empty');
  return row;
}

export async function keepSeenTime(owner: Owner, { seenMs, believedMs }: SeenTime): Promise<void> {
  const believed = believedMs === null ? null : new Date(believedMs);
  await owner.query('UPDATE retention_clock SET seen_at = $1, believed_at = $2', [
    new Date(seenMs),
    believed,
  ]);
}
