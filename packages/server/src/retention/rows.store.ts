import { firstUuidAt, lateAfterMs, lateClass } from '@indelible/protocol';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { countOf, execute, firstRow, rowsOf, sql } from '../postgres/sql.ts';
import { partitionOf } from './schedule.ts';

/* Statements of the owner role on single tenants' events, a limited number at a time. */

/** Events of a tenant in one class that happened and were received before a given time. */
export interface Piece {
  tenantId: string;
  /** Null: the events of archive parts that hold only older events. */
  retentionClass: number | null;
  beforeMs: number;
}

/** The number of events of a piece, without those in these partitions. */
export async function countPiece(
  owner: Queries,
  { tenantId, retentionClass, beforeMs }: Piece,
  except: readonly string[] = [],
): Promise<number> {
  if (retentionClass === null) return countArchived(owner, tenantId, beforeMs);
  const parts = except
    .flatMap((name) => partitionOf(name) ?? [])
    .filter((part) => part.retentionClass === retentionClass);
  const lows = uuidArray(parts.map(({ fromMs }) => firstUuidAt(fromMs)));
  const highs = uuidArray(parts.map(({ toMs }) => firstUuidAt(toMs)));
  return countOf(owner)`SELECT count(*) AS count FROM audit_events
    WHERE tenant_id = ${tenantId} AND retention_class = ${retentionClass}
      AND id < ${firstUuidAt(beforeMs)} AND received_at < ${new Date(beforeMs)}
      AND NOT EXISTS (SELECT FROM unnest(${lows}::uuid[], ${highs}::uuid[]) AS part (low, high)
        WHERE id >= low AND id < high)`;
}

/** Deletes the oldest of them below the log's `size`, up to a number of rows; returns how many. */
export async function removeBatch(
  tx: WriterTx,
  { tenantId, retentionClass, beforeMs }: Piece,
  size: number,
  rowsMax: number,
): Promise<number> {
  if (retentionClass === null) return unlistArchived(tx, tenantId, beforeMs);
  const before = firstUuidAt(beforeMs);
  const expired = sql`tenant_id = ${tenantId} AND retention_class = ${retentionClass}
    AND sequence < ${size} AND received_at < ${new Date(beforeMs)}`;
  return execute(tx)`DELETE FROM audit_events
    WHERE ${expired} AND id < coalesce((SELECT id FROM audit_events
      WHERE ${expired} AND id < ${before} ORDER BY id OFFSET ${rowsMax} LIMIT 1), ${before})`;
}

/** Tenants whose events are read from the archive. */
export async function archivedTenantIds(owner: Queries): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(owner)`
    SELECT DISTINCT tenant_id AS id FROM cold_parts WHERE highest IS NOT NULL`;
  return rows.map(({ id }) => id);
}

// An event that is not late was received at most a day after its time.
const highestId = (beforeMs: number) => firstUuidAt(Math.max(0, beforeMs - lateAfterMs));

/** Late events are in the archive too, but are read from PostgreSQL. */
function countArchived(owner: Queries, tenantId: string, beforeMs: number): Promise<number> {
  return countOf(owner)`SELECT coalesce(sum(events - late), 0)::bigint AS count
    FROM archive_segments JOIN cold_parts USING (tenant_id, first_sequence),
      LATERAL (SELECT count(*) AS late FROM audit_events
        WHERE tenant_id = ${tenantId} AND retention_class = ${lateClass}
          AND sequence BETWEEN first_sequence AND cold_parts.last_sequence) l
    WHERE tenant_id = ${tenantId} AND highest < ${highestId(beforeMs)}`;
}

/** No reader looks into a part without ids. Its row stays, so that it is not listed again. */
function unlistArchived(tx: WriterTx, tenantId: string, beforeMs: number): Promise<number> {
  return execute(tx)`UPDATE cold_parts SET lowest = NULL, highest = NULL, keys = '\\x00'
    WHERE tenant_id = ${tenantId} AND highest < ${highestId(beforeMs)}`;
}

/** Id of the tenant's oldest event of the class at or after `from`, or null. */
export async function oldestFrom(
  owner: Queries,
  tenantId: string,
  retentionClass: number,
  from: string,
): Promise<string | null> {
  const row = await firstRow<{ id: string }>(owner)`SELECT id FROM audit_events
    WHERE tenant_id = ${tenantId} AND retention_class = ${retentionClass} AND id >= ${from}
    ORDER BY id LIMIT 1`;
  return row?.id ?? null;
}

/** A tenant's events of a class with ids in `[from, to)`, which move to the class `target`. */
export interface Move {
  tenantId: string;
  retentionClass: number;
  from: string;
  to: string;
  target: number;
}

/** Moves the oldest of these events, up to a number of rows; returns how many. */
export async function moveBatch(tx: WriterTx, move: Move, rowsMax: number): Promise<number> {
  const { tenantId, retentionClass, from, to, target } = move;
  const moving = sql`tenant_id = ${tenantId} AND retention_class = ${retentionClass}
    AND id >= ${from}`;
  return execute(tx)`UPDATE audit_events SET retention_class = ${target}
    WHERE ${moving} AND id < coalesce((SELECT id FROM audit_events
      WHERE ${moving} AND id < ${to} ORDER BY id OFFSET ${rowsMax} LIMIT 1), ${to})`;
}

/** The number of the tenant's events in the class at or after `from`. */
export async function countFrom(
  owner: Queries,
  { tenantId, retentionClass, from }: Pick<Move, 'tenantId' | 'retentionClass' | 'from'>,
): Promise<number> {
  return countOf(owner)`SELECT count(*) AS count FROM audit_events
    WHERE tenant_id = ${tenantId} AND retention_class = ${retentionClass} AND id >= ${from}`;
}
