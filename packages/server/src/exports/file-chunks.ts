import { createHash } from 'node:crypto';
import { type Database, readTenant, type TenantTx } from '../db.ts';
import { visibility } from '../events/store.ts';
import { AppError } from '../problem.ts';
import { fileShape } from './export-file.ts';
import { storedFilter } from './export-input.ts';
import { countRows, type ExportedEvent, type FileRows, nextRows } from './rows.store.ts';
import type { ExportRow, FinishedFile } from './store.ts';

/** Counts and hashes a file as it passes by. */
export class FileTally {
  rows = 0;
  bytes = 0;
  readonly #hash = createHash('sha256');

  add(text: string, rows: number): Buffer {
    const chunk = Buffer.from(text);
    this.rows += rows;
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    return chunk;
  }

  /** May be called once. */
  end(): FinishedFile {
    return { rows: this.rows, bytes: this.bytes, sha256: this.#hash.digest() };
  }
}

/** Short enough that other requests are answered in between. */
const sliceRows = 250;

/**
 * The file of an export in pieces, the same bytes at every run. Reads a page ahead, each a snapshot of its
 * own: memory stays small, and no snapshot is held for long. The pages fit together because ids and
 * sequences never change.
 */
export async function* fileChunks(
  db: Database,
  now: () => number,
  row: ExportRow,
  tally: FileTally,
): AsyncGenerator<Buffer, void, undefined> {
  const { header, line } = fileShape(row.format, row.columns);
  let begin = header;
  for await (const page of pages(db, now, row)) {
    for (let at = 0; at < page.length; at += sliceRows) {
      const slice = page.slice(at, at + sliceRows);
      yield tally.add(begin + slice.map((event) => line(event)).join(''), slice.length);
      begin = '';
    }
  }
  if (begin !== '') yield tally.add(begin, 0);
}

const pageRows = { first: 500, min: 20, max: 2_000 };

async function* pages(
  db: Database,
  now: () => number,
  row: ExportRow,
): AsyncGenerator<ExportedEvent[], void, undefined> {
  const wanted = rowsOf(row);
  const read = (before: string | null, max: number) =>
    readVisible(db, now, row.tenantId, (tx, visible) => nextRows(tx, wanted, visible, before, max));
  let next = read(null, pageRows.first);
  for (;;) {
    const { rows, more } = await next;
    const last = rows.at(-1);
    if (last && more) {
      // Of large events fewer are asked for: what does not fit into a page would be read in vain.
      const max = Math.min(Math.max(2 * rows.length, pageRows.min), pageRows.max);
      next = read(last.uuid, max);
      next.catch(() => {}); // met when it is its turn, or by nobody when the reader has gone
    }
    yield rows;
    if (!more) return;
  }
}

/** How many rows the file will have, or null when counting them takes too long. */
export function countFileRows(
  db: Database,
  now: () => number,
  row: ExportRow,
): Promise<number | null> {
  return readVisible(db, now, row.tenantId, (tx, visible) =>
    countRows(tx, rowsOf(row), visible),
  ).catch(() => null);
}

function rowsOf({ filters, format, columns, beforeSequence, oldestId }: ExportRow): FileRows {
  const { states } = fileShape(format, columns);
  return { filter: storedFilter(filters), beforeSequence, oldestId, states };
}

// Where rows sit may change meanwhile, so that is asked anew; what is shown of them may not.
function readVisible<T>(
  db: Database,
  now: () => number,
  tenantId: string,
  read: (tx: TenantTx, visible: NonNullable<Awaited<ReturnType<typeof visibility>>>) => Promise<T>,
): Promise<T> {
  return readTenant(db, tenantId, async (tx) => {
    const visible = await visibility(tx, now());
    if (!visible) throw new AppError('not_found', 'there is no such tenant');
    return read(tx, visible);
  });
}
