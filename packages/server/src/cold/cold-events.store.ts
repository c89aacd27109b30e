import { eventIdFromUuid, lateAfterMs, longFields } from '@indelible/protocol';
import type { TenantTx } from '../postgres/db.ts';
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

/** The bytes of an event's long texts. */
export const longBytes = longFields(true)
  .map(({ column }) => `coalesce(strlen(${column}), 0)`)
  .join(' + ');

/** Some 8 MiB of events: DuckDB keeps several copies of what a statement answers. */
const pageBytesMax = 8 * 2 ** 20;

interface Wanted {
  sequences: readonly number[];
}

/**
 * The events of a part with these sequences or ids for which `also` holds, no late ones, in the
 * order of the log, in pages of a few MiB. What is larger than its share of a page is read after
 * the sizes are known.
 */
export async function* coldEvents(
  tx: TenantTx,
  part: Pick<ColdPart, 'events' | 'identity'>,
  wanted: Wanted | { uuids: readonly string[] },
  { also = 'true', descending = false } = {},
): AsyncGenerator<ArchivedRow[]> {
  const count = 'uuids' in wanted ? wanted.uuids.length : wanted.sequences.length;
  const isSmall = `${longBytes} <= ${Math.floor(pageBytesMax / count)}`;
  const all = await rowsOf(tx, part, wanted, also, isSmall);
  const sign = descending ? -1 : 1;
  const inOrder = (a: { sequence: number }, b: { sequence: number }) =>
    sign * (a.sequence - b.sequence);
  for (const page of pagesOf(all.sort(inOrder))) {
    const large = page.flatMap(({ text, sequence }) => (text === null ? sequence : []));
    const more = large.length === 0 ? [] : await rowsOf(tx, part, { sequences: large });
    const rows = [...page, ...more].flatMap(({ text }) => text ?? []);
    yield rows.map((text) => rowOf(text, tx.tenantId)).sort(inOrder);
  }
}

interface SizedRow {
  sequence: number;
  bytes: number;
  /** Null: not small. */
  text: string | null;
}

function pagesOf(rows: readonly SizedRow[]): SizedRow[][] {
  const pages: SizedRow[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    bytes += row.bytes;
    if (bytes > pageBytesMax) {
      pages.push([]);
      bytes = row.bytes;
    }
    pages.at(-1)?.push(row);
  }
  return pages;
}

async function rowsOf(
  tx: TenantTx,
  part: Pick<ColdPart, 'events' | 'identity'>,
  wanted: Wanted | { uuids: readonly string[] },
  also = 'true',
  isSmall = 'true',
): Promise<SizedRow[]> {
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
      `SELECT e.sequence, ${longBytes}, CASE WHEN ${isSmall} THEN ${wholeRow} END
       FROM ${filesOf([events])} e
       JOIN ${filesOf([identity])} i ON i.sequence = e.sequence${near}
       WHERE ${condition} AND ${also} AND action IS NOT NULL AND ${notLate}`,
    values,
  );
  return rows.map(([sequence, bytes, text]) => ({
    ...{ sequence: Number(sequence), bytes: Number(bytes) },
    text: text === null ? null : String(text),
  }));
}
