import { firstUuidAt } from '@indelible/protocol';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { uuidArray } from '../postgres/pg-arrays.ts';
import { countOf, execute, firstRow, sql } from '../postgres/sql.ts';
import { partitionOf } from './schedule.ts';

/* Statements of the owner role on single tenants' events, a limited number at a time. */

/** Events of a tenant in one class that happened and were received before a given time. */
export interface Piece {
  tenantId: string;
  retentionClass: number;
  beforeMs: number;
}

/** The number of events of a piece, without those in these partitions. */
export async function countPiece(
  owner: Queries,
  { tenantId, retentionClass, beforeMs }: Piece,
  except: readonly string[] = [],
): Promise<number> {
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
  const before = firstUuidAt(beforeMs);
  const expired = sql`tenant_id = ${tenantId} AND retention_class = ${retentionClass}
    AND sequence < ${size} AND received_at < ${new Date(beforeMs)}`;
  return execute(tx)`DELETE FROM audit_events
    WHERE ${expired} AND id < coalesce((SELECT id FROM audit_events
      WHERE ${expired} AND id < ${before} ORDER BY id OFFSET ${rowsMax} LIMIT 1), ${before})`;
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
