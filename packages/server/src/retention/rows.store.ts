import { firstUuidAt, lateAfterMs, lateClass } from '@indelible/protocol';
import { uuidArray, type WriterTx } from '../postgres/index.ts';
import { partitionOf } from './schedule.ts';
import type { Owner } from './terms.store.ts';

/* Statements of the owner role on single tenants' events, a limited number at a time. */

/** Events of a tenant in one class that happened and were received before a given time. */
export interface Piece {
  tenantId: string;
  /** Null: those of archive parts of which every event is older. */
  retentionClass: number | null;
  beforeMs: number;
}

/** Their number, without those in these partitions. */
export async function countPiece(
  owner: Owner,
  { tenantId, retentionClass, beforeMs }: Piece,
  except: readonly string[] = [],
): Promise<number> {
  if (retentionClass === null) return countArchived(owner, tenantId, beforeMs);
  const parts = except
    .flatMap((name) => partitionOf(name) ?? [])
    .filter((part) => part.retentionClass === retentionClass);
  const { rows } = await owner.query<{ count: number }>(
    `SELECT count(*) AS count FROM audit_events WHERE tenant_id = $1 AND retention_class = $2
       AND id < $3 AND received_at < $4
       AND NOT EXISTS (SELECT FROM unnest($5::uuid[], $6::uuid[]) AS part (low, high)
         WHERE id >= low AND id < high)`,
    [
      ...[tenantId, retentionClass, firstUuidAt(beforeMs), new Date(beforeMs)],
      uuidArray(parts.map(({ fromMs }) => firstUuidAt(fromMs))),
      uuidArray(parts.map(({ toMs }) => firstUuidAt(toMs))),
    ],
  );
  return rows[0]?.count ?? 0;
}

/** Deletes the oldest of them below the log's `size`, up to a number of rows; returns how many. */
export async function removeBatch(
  tx: WriterTx,
  { tenantId, retentionClass, beforeMs }: Piece,
  size: number,
  rowsMax: number,
): Promise<number> {
  if (retentionClass === null) return unlistArchived(tx, tenantId, beforeMs);
  const { rowCount } = await tx.query(
    `DELETE FROM audit_events WHERE tenant_id = $1 AND retention_class = $2 AND sequence < $4
       AND received_at < $6
       AND id < coalesce((SELECT id FROM audit_events WHERE tenant_id = $1 AND retention_class = $2
         AND id < $3 AND sequence < $4 AND received_at < $6 ORDER BY id OFFSET $5 LIMIT 1), $3)`,
    [tenantId, retentionClass, firstUuidAt(beforeMs), size, rowsMax, new Date(beforeMs)],
  );
  return rowCount ?? 0;
}

/** Tenants whose events are read from the archive. */
export async function archivedTenantIds(owner: Owner): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    'SELECT DISTINCT tenant_id AS id FROM cold_parts WHERE highest IS NOT NULL',
  );
  return rows.map(({ id }) => id);
}

// An event that is not late was received at most a day after its time.
const highestId = (beforeMs: number) => firstUuidAt(Math.max(0, beforeMs - lateAfterMs));

/** Late events are in the archive too, but are read from PostgreSQL. */
async function countArchived(owner: Owner, tenantId: string, beforeMs: number): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    `SELECT coalesce(sum(events - late), 0)::bigint AS count FROM archive_segments
       JOIN cold_parts USING (tenant_id, first_sequence), LATERAL (SELECT count(*) AS late FROM audit_events
         WHERE tenant_id = $1 AND retention_class = $3
           AND sequence BETWEEN first_sequence AND cold_parts.last_sequence) l
     WHERE tenant_id = $1 AND highest < $2`,
    [tenantId, highestId(beforeMs), lateClass],
  );
  return rows[0]?.count ?? 0;
}

/** No reader looks into a part without ids. Its row stays, so that it is not listed again. */
async function unlistArchived(tx: WriterTx, tenantId: string, beforeMs: number): Promise<number> {
  const { rowCount } = await tx.query(
    `UPDATE cold_parts SET lowest = NULL, highest = NULL, keys = '\\x00' WHERE tenant_id = $1 AND highest < $2`,
    [tenantId, highestId(beforeMs)],
  );
  return rowCount ?? 0;
}

/** Id of the tenant's oldest event of the class at or after `from`, or null. */
export async function oldestFrom(
  owner: Owner,
  tenantId: string,
  retentionClass: number,
  from: string,
): Promise<string | null> {
  const { rows } = await owner.query<{ id: string }>(
    `SELECT id FROM audit_events WHERE tenant_id = $1 AND retention_class = $2 AND id >= $3
     ORDER BY id LIMIT 1`,
    [tenantId, retentionClass, from],
  );
  return rows[0]?.id ?? null;
}

/**
 * Moves the oldest of the tenant's events in `[from, to)` to another class, up to a number of rows;
 * returns how many.
 */
export async function moveBatch(
  tx: WriterTx,
  move: { tenantId: string; retentionClass: number; from: string; to: string; target: number },
  rowsMax: number,
): Promise<number> {
  const { tenantId, retentionClass, from, to, target } = move;
  const { rowCount } = await tx.query(
    `UPDATE audit_events SET retention_class = $5 WHERE tenant_id = $1 AND retention_class = $2
       AND id >= $3 AND id < coalesce((SELECT id FROM audit_events WHERE tenant_id = $1
         AND retention_class = $2 AND id >= $3 AND id < $4 ORDER BY id OFFSET $6 LIMIT 1), $4)`,
    [tenantId, retentionClass, from, to, target, rowsMax],
  );
  return rowCount ?? 0;
}

/** The number of the tenant's events in the class at or after `from`. */
export async function countFrom(
  owner: Owner,
  tenantId: string,
  retentionClass: number,
  from: string,
): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    `SELECT count(*) AS count FROM audit_events
     WHERE tenant_id = $1 AND retention_class = $2 AND id >= $3`,
    [tenantId, retentionClass, from],
  );
  return rows[0]?.count ?? 0;
}
