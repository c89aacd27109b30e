import type { Plan } from '@indelible/protocol';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { dateOrNull, execute, firstRow, hasRow, rowsOf } from '../postgres/sql.ts';
import { keepsOf } from '../tenants/plans.store.ts';
import type { RetentionTerms, SeenTime } from './schedule.ts';

/* Statements of the owner role: no serving role may run them. */

export interface TenantTerms extends RetentionTerms {
  tenantId: string;
  name: string;
  plan: Plan;
}

/**
 * The terms of these tenants. Graces are read last: if a change commits between the two statements,
 * the grace is seen, but not yet the smaller plan.
 */
export async function readTerms(
  owner: Queries,
  tenantIds: readonly string[],
): Promise<Map<string, TenantTerms>> {
  const ids = uuidArray(tenantIds);
  const rows = await rowsOf<Omit<TenantTerms, 'keeps' | 'grace'> & Length>(owner)`
    SELECT id AS "tenantId", tenants.name, plan, days, years, legal_hold AS "legalHold" FROM tenants
    JOIN plans ON plans.name = plan WHERE id = ANY (${ids})`;
  type Grace = Length & { tenantId: string; untilMs: number; isHold: boolean };
  const graces = await rowsOf<Grace>(owner)`
    SELECT tenant_id AS "tenantId", until AS "untilMs", days, years, name IS NULL AS "isHold"
    FROM grace JOIN plans USING (class) WHERE tenant_id = ANY (${ids})`;
  const byTenant = Map.groupBy(graces, ({ tenantId }) => tenantId);
  return new Map(
    rows.map(({ days, years, ...row }) => {
      const grace = (byTenant.get(row.tenantId) ?? []).map(({ untilMs, isHold, ...length }) => {
        return { keeps: isHold ? null : keepsOf(length), untilMs };
      });
      return [row.tenantId, { ...row, keeps: keepsOf({ days, years }), grace }];
    }),
  );
}

interface Length {
  days: number;
  years: number;
}

/** The tenant's terms, locked until the transaction ends. */
export async function lockTerms(tx: WriterTx, tenantId: string): Promise<TenantTerms | null> {
  await execute(tx)`SELECT 1 FROM tenants WHERE id = ${tenantId} FOR NO KEY UPDATE`;
  return (await readTerms(tx, [tenantId])).get(tenantId) ?? null;
}

/** A tenant with events in several classes. */
export interface UnsettledTenant {
  tenantId: string;
  retentionClass: number;
  otherClasses: number[];
}

/** All such tenants, or only this one, if it is one. */
export async function unsettledTenants(
  owner: Queries,
  tenantId: string | null = null,
): Promise<UnsettledTenant[]> {
  return rowsOf<UnsettledTenant>(owner)`
    SELECT tenant_id AS "tenantId", retention_class AS "retentionClass",
      other_classes AS "otherClasses" FROM log_heads
    WHERE other_classes <> '{}' AND (${tenantId}::uuid IS NULL OR tenant_id = ${tenantId})
    ORDER BY tenant_id`;
}

/** Locks the tenant's head until the transaction ends, also while recording is stopped. */
export async function lockHead(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`SELECT 1 FROM log_heads WHERE tenant_id = ${tenantId} FOR NO KEY UPDATE`;
}

/** Removes these classes from the row of the tenant, whose head is locked. */
export async function leaveClasses(
  tx: WriterTx,
  tenantId: string,
  classes: readonly number[],
): Promise<void> {
  await execute(tx)`UPDATE log_heads SET other_classes =
      (SELECT coalesce(array_agg(c ORDER BY c), '{}') FROM unnest(other_classes) c
        WHERE c <> ALL (${`{${classes.join(',')}}`}::smallint[]))
    WHERE tenant_id = ${tenantId}`;
}

/** False while another process removes, moves or erases events; the lock ends with the session. */
export function takeRetentionLock(owner: Queries): Promise<boolean> {
  return hasRow(owner)`SELECT WHERE pg_try_advisory_lock(hashtext('indelible.retention'))`;
}

/** Before the session ends. */
export async function releaseRetentionLock(owner: Queries): Promise<void> {
  await execute(owner)`SELECT pg_advisory_unlock(hashtext('indelible.retention'))`;
}

export async function readSeenTime(owner: Queries): Promise<SeenTime> {
  const row = await firstRow<SeenTime>(owner)`
    SELECT seen_at AS "seenMs", believed_at AS "believedMs" FROM retention_clock`;
  if (!row) throw new Error('the table retention_clock is empty');
  return row;
}

export async function keepSeenTime(
  owner: Queries,
  { seenMs, believedMs }: SeenTime,
): Promise<void> {
  await execute(owner)`UPDATE retention_clock
    SET seen_at = ${new Date(seenMs)}, believed_at = ${dateOrNull(believedMs)}`;
}
