import { firstUuidAt } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import type { Queries, TenantTx, WriterTx } from '../postgres/db.ts';
import { shownFrom } from '../tenants/plans.store.ts';
import { coldEventsById } from './cold.store.ts';
import { storedColumns } from './event-columns.store.ts';
import { shownSince, type Visibility } from './filter-sql.store.ts';
import type { StoredEvent } from './prepared-event.ts';

/** One event with its states, or null if it is unknown or the plan does not show it. */
export async function getEvent(
  tx: TenantTx,
  uuid: string,
  visible: Pick<Visibility, 'classes' | 'oldest' | 'coldBefore'>,
): Promise<StoredEvent | null> {
  const { classes, oldest } = visible;
  // Class by class, usually one: `= ANY` on the class prunes no partitions, and reading a few
  // hundred takes 5 ms.
  for (const retentionClass of classes) {
    const { rows } = await tx.query<StoredEvent>({
      name: 'get-event',
      text: `SELECT ${storedColumns}, before, after FROM audit_events
        WHERE tenant_id = $1 AND retention_class = $2 AND id = $3
          AND (id >= $4 OR received_at >= $5)`,
      values: [tx.tenantId, retentionClass, uuid, oldest, shownSince({ oldest })],
    });
    if (rows[0]) return rows[0];
  }
  for await (const [event] of coldEventsById(tx, [uuid], visible)) return event ?? null;
  return null;
}

/** What the tenant's current plan shows; null for an unknown tenant. */
export async function visibility(tx: TenantTx, nowMs: number): Promise<Visibility | null> {
  const { rows } = await tx.query<{
    days: number;
    years: number;
    legalHold: boolean;
    current: number;
    others: number[];
    size: number;
    coldBefore: string | null;
    newestMs: number;
  }>({
    name: 'visibility',
    text: `SELECT days, years, legal_hold AS "legalHold", retention_class AS current, other_classes AS others,
        size, cold_before AS "coldBefore", last_received_us / 1000 AS "newestMs"
      FROM tenants JOIN plans ON plans.name = plan JOIN log_heads ON tenant_id = id WHERE id = $1`,
    values: [tx.tenantId],
  });
  const [row] = rows;
  if (!row) return null;
  const oldest = firstUuidAt(shownFrom(row, nowMs) ?? 0);
  return {
    classes: [row.current, ...row.others],
    oldest,
    size: row.size,
    coldBefore: row.coldBefore,
    newestMs: row.newestMs,
  };
}

/** The same. Throws `not_found` for an unknown tenant. */
export async function requireVisible(tx: TenantTx, nowMs: number): Promise<Visibility> {
  const visible = await visibility(tx, nowMs);
  if (visible) return visible;
  throw new AppError('not_found', 'there is no such tenant');
}

/** Id of this installation, the recorder of the service's own events. */
export async function readServiceId(writer: Queries): Promise<string> {
  const { rows } = await writer.query<{ id: string }>('SELECT id FROM installation');
  if (!rows[0]) throw new Error('the database is not migrated; run `indelible migrate`');
  return rows[0].id;
}

/**
 * Makes the partitions of these times; existing ones stay. In its own transaction, because they
 * must exist before the insert.
 */
export async function makePartitions(
  tx: WriterTx,
  wanted: readonly { retentionClass: number; timeMs: number }[],
) {
  for (const { retentionClass, timeMs } of wanted) {
    await tx.query('SELECT make_partition($1::smallint, $2)', [retentionClass, new Date(timeMs)]);
  }
}

/**
 * To be called after the commit that attaches partitions, and before rows are written to them: a
 * session that is planning meanwhile would never read them. False if others are attaching.
 */
export async function announcePartitions(tx: Queries): Promise<boolean> {
  const { rows } = await tx.query<{ done: boolean }>('SELECT announce_partitions() AS done');
  return rows[0]?.done === true;
}

/** Makes or attaches the partition of this time. */
export async function ensurePartition(
  owner: Queries,
  retentionClass: number,
  timeMs: number,
): Promise<void> {
  await owner.query('SELECT place_partition($1::smallint, $2)', [retentionClass, new Date(timeMs)]);
}
