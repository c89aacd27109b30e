import type { Queries } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { firstRow, rowsOf } from '../postgres/sql.ts';

/* Statements of the owner role: no serving role may run them. */

/** The class of the tenant's new rows, and where those in the archive end; null without a log. */
export async function classAndMark(
  owner: Queries,
  tenantId: string,
): Promise<{ retentionClass: number; coldBefore: string | null } | null> {
  return firstRow<{ retentionClass: number; coldBefore: string | null }>(owner)`
    SELECT retention_class AS "retentionClass", cold_before AS "coldBefore" FROM tenants
    JOIN log_heads ON tenant_id = id WHERE id = ${tenantId}`;
}

/** Those of these ids that have a row. */
export async function storedOf(
  owner: Queries,
  tenantId: string,
  uuids: readonly string[],
): Promise<Set<string>> {
  const rows = await rowsOf<{ id: string }>(owner)`SELECT id FROM audit_events
    WHERE tenant_id = ${tenantId} AND id = ANY (${uuidArray(uuids)}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}
