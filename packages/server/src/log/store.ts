import { entryBytes, tileWidth } from '@indelible/protocol';
import type { TenantTx, WriterTx } from '../db.ts';
import { byteaArray, int2Array, int8Array, uuidArray } from '../pg-arrays.ts';
import { type AppError, unavailable } from '../problem.ts';
import type { LogAppend, LogHead } from './sequencer.ts';

export { type LogAppend, type LogHead, planAppend, planEntries } from './sequencer.ts';

/** What callers hear while the logs stand still: which log, and why, only the operator's log says. */
export const haltedSentence =
  'recording is stopped, because the log contradicts what was published of it: the operator must act';

export const logIsHalted = (): AppError => unavailable(haltedSentence);

/**
 * Locks the heads of these tenants until the transaction ends. Without `wait`, heads that another
 * flush holds are left out of the answer, as are tenants without a log. Throws `unavailable` while
 * recording is stopped.
 */
export async function lockHeads(
  tx: WriterTx,
  tenantIds: readonly string[],
  wait: boolean,
): Promise<LogHead[]> {
  const query = {
    name: 'lock-heads',
    text: `SELECT tenant_id AS "tenantId", size, frontier, last_received_us AS "lastReceivedUs",
             retention_class AS "retentionClass", other_classes AS "otherClasses"
           FROM lock_heads($1, $2)`,
    values: [uuidArray(tenantIds), wait],
  };
  const { rows } = await tx.query<LogHead>(query).catch((error: unknown) => {
    const isHalted = error instanceof Error && 'code' in error && error.code === 'IND01';
    throw isHalted ? logIsHalted() : error;
  });
  return rows;
}

/** Which of these tenants have a log at all: tells a skipped head from an unknown tenant. */
export async function tenantsWithLog(
  tx: WriterTx,
  tenantIds: readonly string[],
): Promise<Set<string>> {
  const { rows } = await tx.query<{ tenantId: string }>({
    name: 'tenants-with-log',
    text: 'SELECT tenant_id AS "tenantId" FROM log_heads WHERE tenant_id = ANY ($1)',
    values: [uuidArray(tenantIds)],
  });
  return new Set(rows.map((row) => row.tenantId));
}

/** Begins a tenant's log, or moves its new events to another retention class. */
export async function openLog(
  tx: WriterTx,
  tenantId: string,
  retentionClass: number,
): Promise<void> {
  await tx.query('SELECT open_log($1, $2::smallint)', [tenantId, retentionClass]);
}

/** Writes tail, tiles and heads in one round trip; fails as a whole when any head has moved. */
export async function appendLogs(tx: WriterTx, appends: readonly LogAppend[]): Promise<void> {
  const of = <T>(pick: (append: LogAppend) => T) => appends.map(pick);
  const tail = appends.flatMap((a) => a.tail.map((t) => ({ ...t, tenantId: a.head.tenantId })));
  const tiles = appends.flatMap((a) => a.tiles.map((t) => ({ ...t, tenantId: a.head.tenantId })));
  await tx.query({
    name: 'append-logs',
    text: 'SELECT append_log($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)',
    values: [
      uuidArray(of((a) => a.head.tenantId)),
      int8Array(of((a) => a.head.size)),
      int8Array(of((a) => a.newSize)),
      byteaArray(of((a) => a.frontier)),
      int8Array(of((a) => a.receivedUs)),
      uuidArray(tail.map((t) => t.tenantId)),
      int8Array(tail.map((t) => t.sequence)),
      byteaArray(tail.map((t) => t.entry)),
      uuidArray(tiles.map((t) => t.tenantId)),
      int2Array(tiles.map((t) => t.level)),
      int8Array(tiles.map((t) => t.index)),
      byteaArray(tiles.map((t) => t.hash)),
      byteaArray(tiles.map((t) => t.rest)),
    ],
  });
}

/** Size of the tenant's log: the sequence the next event will get. */
export async function logSize(tx: TenantTx): Promise<number> {
  const { rows } = await tx.query<{ size: number }>({
    name: 'log-size',
    text: 'SELECT size FROM log_heads WHERE tenant_id = $1',
    values: [tx.tenantId],
  });
  return rows[0]?.size ?? 0;
}

/** Entries `[start, end)` of the log in order, from tiles and tail; at most a few tiles at a time. */
export async function readEntries(tx: TenantTx, start: number, end: number): Promise<Uint8Array[]> {
  const { rows } = await tx.query<{ first: number; data: Buffer }>({
    name: 'read-entries',
    text: `SELECT index * ${tileWidth} AS first, data FROM log_tiles
             WHERE tenant_id = $1 AND level = 0 AND index >= $2::bigint / ${tileWidth}
               AND index * ${tileWidth} < $3::bigint
           UNION ALL
           SELECT sequence, entry FROM log_tail
             WHERE tenant_id = $1 AND sequence >= $2::bigint AND sequence < $3::bigint
           ORDER BY 1`,
    values: [tx.tenantId, start, end],
  });
  return rows.flatMap(({ first, data }) => {
    const entries: Uint8Array[] = [];
    for (let at = 0; at < data.length; at += entryBytes) {
      const sequence = first + at / entryBytes;
      if (sequence >= start && sequence < end) entries.push(data.subarray(at, at + entryBytes));
    }
    return entries;
  });
}
