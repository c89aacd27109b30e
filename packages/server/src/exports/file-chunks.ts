import { createHash } from 'node:crypto';
import { type Database, readTenant, type TenantTx } from '../db.ts';
import { getEvent, visibility } from '../events/store.ts';
import { AppError } from '../problem.ts';
import { fileShape } from './export-file.ts';
import { storedFilter } from './export-input.ts';
import type { ExportedEvent } from './packed-event.ts';
import { countRows, type FileRows, nextRows, type PageRow, type RowsPage } from './rows.store.ts';
import type { ExportRow, FinishedFile } from './store.ts';

/** Where a chunk ends: soon enough that other requests are answered in between. */
const chunkRows = 250;
const chunkCharacters = 128 * 1024;

/**
 * Counts and hashes a file as it passes by. With `reuse` every chunk is in the same buffer, valid until
 * the next one: a million rows would otherwise leave hundreds of megabytes to be collected late.
 */
export class FileTally {
  rows = 0;
  bytes = 0;
  readonly #hash = createHash('sha256');
  readonly #buffer: Buffer | null;

  constructor({ reuse }: { reuse: boolean }) {
    this.#buffer = reuse ? Buffer.allocUnsafeSlow(4 * chunkCharacters) : null;
  }

  add(text: string, rows: number): Buffer {
    const chunk = this.#encode(text);
    this.rows += rows;
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    return chunk;
  }

  #encode(text: string): Buffer {
    // At most three bytes a UTF-16 unit; a single large event may need more than there is.
    if (this.#buffer === null || 3 * text.length > this.#buffer.length) return Buffer.from(text);
    return this.#buffer.subarray(0, this.#buffer.write(text));
  }

  /** May be called once. */
  end(): FinishedFile {
    return { rows: this.rows, bytes: this.bytes, sha256: this.#hash.digest() };
  }
}

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
  let text = header;
  let rows = 0;
  for await (const page of pages(db, now, row)) {
    for (const { uuid, event } of page) {
      text += line(event ?? (await readAlone(db, now, row, uuid)));
      rows += 1;
      if (rows < chunkRows && text.length < chunkCharacters) continue;
      yield tally.add(text, rows);
      text = '';
      rows = 0;
    }
  }
  if (text !== '') yield tally.add(text, rows);
}

async function* pages(
  db: Database,
  now: () => number,
  row: ExportRow,
): AsyncGenerator<PageRow[], void, undefined> {
  const wanted = rowsOf(row);
  const read = (before: string | null) =>
    readVisible(db, now, row.tenantId, (tx, visible) => nextRows(tx, wanted, visible, before));
  for (let next: Promise<RowsPage> | null = read(null); next; ) {
    const { rows, more }: RowsPage = await next;
    const last = rows.at(-1);
    next = last && more ? read(last.uuid) : null;
    next?.catch(() => {}); // met when it is its turn, or by nobody when the reader has gone
    yield rows;
  }
}

async function readAlone(
  db: Database,
  now: () => number,
  { tenantId, oldestId }: ExportRow,
  uuid: string,
): Promise<ExportedEvent> {
  const event = await readVisible(db, now, tenantId, (tx, { classes }) =>
    getEvent(tx, uuid, [...classes], oldestId),
  );
  if (!event) throw new Error('an event went while it was exported');
  return event;
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
  const { whole } = fileShape(format, columns);
  return { filter: storedFilter(filters), beforeSequence, oldestId, whole };
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
