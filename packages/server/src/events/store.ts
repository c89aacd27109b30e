import { firstUuidAt } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import { type Database, type Queries, readTenant, type TenantTx } from '../postgres/db.ts';
import { firstRow, raw } from '../postgres/sql.ts';
import { shownFrom } from '../tenants/plans.store.ts';
import { shownSince, type Visibility } from './filter-sql.store.ts';
import type { StoredEvent } from './prepared-event.ts';
import { storedColumns } from './read-columns.store.ts';

/** One event with its states, or null if it is unknown or the plan does not show it. */
export async function getEvent(uuid: string, visible: Visibility): Promise<StoredEvent | null> {
  const { classes, oldest } = visible;
  // Class by class, usually one: `= ANY` on the class prunes no partitions, and reading a few
  // hundred takes 5 ms.
  for (const retentionClass of classes) {
    const event = await firstRow<StoredEvent>(visible.tx)`
      SELECT ${raw(storedColumns)}, before, after FROM audit_events
      WHERE tenant_id = ${visible.tx.tenantId} AND retention_class = ${retentionClass} AND id = ${uuid}
        AND (id >= ${oldest} OR received_at >= ${shownSince({ oldest })})`;
    if (event) return event;
  }
  return null;
}

/** What the tenant's current plan shows; null for an unknown tenant. */
export async function visibility(tx: TenantTx, nowMs: number): Promise<Visibility | null> {
  type Terms = Parameters<typeof shownFrom>[0];
  const row = await firstRow<Terms & Omit<Visibility, 'tx' | 'oldest'>>(tx)`
    SELECT days, years, legal_hold AS "legalHold", retention_class || other_classes AS classes,
      size, last_received_us / 1000 AS "newestMs"
    FROM tenants JOIN plans ON plans.name = plan JOIN log_heads ON tenant_id = id
    WHERE id = ${tx.tenantId}`;
  if (row === null) return null;
  const { classes, size, newestMs } = row;
  const oldest = firstUuidAt(shownFrom(row, nowMs) ?? 0);
  return { tx, classes, size, newestMs, oldest };
}

/** Reads in a tenant what its plan shows now. Throws `not_found` for an unknown tenant. */
export function readShown<T>(
  db: Database,
  tenantId: string,
  nowMs: number,
  read: (visible: Visibility) => T | Promise<T>,
  gone?: AbortSignal,
): Promise<T> {
  const shown = async (tx: TenantTx) => {
    const visible = await visibility(tx, nowMs);
    if (visible) return read(visible);
    throw new AppError('not_found', 'there is no such tenant');
  };
  return readTenant(db, tenantId, shown, gone);
}

/** Id of this installation, the recorder of the service's own events. */
export async function readServiceId(writer: Queries): Promise<string> {
  const row = await firstRow<{ id: string }>(writer)`SELECT id FROM installation`;
  if (row) return row.id;
  throw new Error('the database is not migrated; run `indelible migrate`');
}
