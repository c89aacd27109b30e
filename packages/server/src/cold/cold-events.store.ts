import { eventIdFromUuid, lateAfterMs } from '@indelible/protocol';
import type { TenantTx } from '../postgres/index.ts';
import type { ArchivedRow } from './archived-row.ts';
import { quoted } from './duckdb.ts';
import { rowOf, wholeRow } from './read-part.store.ts';
import type { ColdPart } from './store.ts';

/** Throws for a transaction that only PostgreSQL is read in. */
export function coldSource({ cold }: TenantTx) {
  if (cold === undefined) throw new Error('this connection does not read the archive');
  return cold;
}

export const filesOf = (paths: readonly string[]) =>
  `read_parquet([${paths.map(quoted).join(', ')}], hive_partitioning = false)`;

/** Late events stay in PostgreSQL. */
export const notLate = `epoch_us(received_at) // 1000 - epoch_ms("timestamp") <= ${lateAfterMs}`;

/** The events of a part with these sequences or ids for which `also` holds; no late ones. */
export async function coldEvents(
  tx: TenantTx,
  part: Pick<ColdPart, 'events' | 'identity'>,
  wanted: { sequences: readonly number[] } | { uuids: readonly string[] },
  also = 'true',
): Promise<ArchivedRow[]> {
  const [condition, values] =
    'uuids' in wanted
      ? ['e.id IN (SELECT unnest($1::VARCHAR[]))', [wanted.uuids.map(eventIdFromUuid)]]
      : [`e.sequence IN (${wanted.sequences.map(Number).join(', ')})`, []];
  // Skips the row groups of the second file.
  const near =
    'sequences' in wanted
      ? ` AND i.sequence BETWEEN ${Math.min(...wanted.sequences)} AND ${Math.max(...wanted.sequences)}`
      : '';
  const rows = await coldSource(tx).read(
    [part.events, part.identity],
    ([events = '', identity = '']) =>
      `SELECT ${wholeRow} FROM ${filesOf([events])} e
       JOIN ${filesOf([identity])} i ON i.sequence = e.sequence${near}
       WHERE ${condition} AND ${also} AND action IS NOT NULL AND ${notLate}`,
    values,
  );
  return rows.map(([row]) => rowOf(row, tx.tenantId));
}
