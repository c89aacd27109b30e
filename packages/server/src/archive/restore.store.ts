import { isLate, lateClass, uuidTimeMs } from '@indelible/protocol';
import { insertEvents } from '../events/event-columns.store.ts';
import { storedOpeners } from '../events/prepared-event.ts';
import { mayPause, type WriterTx } from '../postgres/db.ts';
import { makePartitions } from '../postgres/partitions.store.ts';
import { execute, hasRow } from '../postgres/sql.ts';
import { partitionsOf } from '../record/partitions.ts';
import type { ArchivedRow } from './archived-row.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * Whether the service has neither tenants nor logs; prevents new ones until the transaction ends.
 */
export async function holdEmpty(tx: WriterTx): Promise<boolean> {
  await tx.query('LOCK TABLE tenants, log_heads IN EXCLUSIVE MODE');
  // Downloads between two statements may take long.
  await mayPause(tx);
  return hasRow(tx)`SELECT
    WHERE NOT EXISTS (SELECT 1 FROM tenants) AND NOT EXISTS (SELECT 1 FROM log_heads)`;
}

/** For a hold that is known only after the log's own records were read. */
export async function setLegalHold(tx: WriterTx, tenantId: string): Promise<void> {
  await execute(tx)`UPDATE tenants SET legal_hold = true WHERE id = ${tenantId}`;
}

/** Inserts events unchanged, and makes their partitions. */
export async function insertRestored(
  tx: WriterTx,
  rows: readonly ArchivedRow[],
  retentionClass: number,
): Promise<void> {
  const whole = rows.flatMap(({ body, ...row }) => (body === null ? [] : [{ ...row, ...body }]));
  if (whole.length === 0) return;
  const inserted = whole.map((row) => {
    const late = isLate(uuidTimeMs(row.uuid), row.receivedAtUs / 1_000);
    return { ...row, retentionClass: late ? lateClass : retentionClass, ...storedOpeners(row) };
  });
  await makePartitions(tx, partitionsOf(inserted));
  const added = await insertEvents(tx, inserted);
  if (added < inserted.length) throw new Error('an event of the archive is stored already');
}
