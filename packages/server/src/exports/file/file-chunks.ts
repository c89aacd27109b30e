import { createHash } from 'node:crypto';
import { storedFilter } from '@indelible/protocol';
import type { Visibility } from '../../events/filter-sql.store.ts';
import { readShown } from '../../events/store.ts';
import { countEvents } from '../../list/count.store.ts';
import type { Database } from '../../postgres/db.ts';
import { readAhead } from '../../postgres/read-ahead.ts';
import type { ExportRow, FinishedFile } from '../store.ts';
import { fileShape } from './export-file.ts';
import { type ExportedEvent, type FileRows, nextPage } from './rows.store.ts';

/** How the pages of a file are read. */
interface Pace {
  /** The most events of a page. */
  limit: number;
  /** Pages to read in advance. */
  ahead: number;
}

/** For a file that is sent while it is made. A slow reader holds at most one page in memory. */
const asItIsTaken: Pace = { limit: 250, ahead: 0 };

/** For a file that is written at full speed, by a thread of its own. */
export const asItIsWritten: Pace = { limit: 1_000, ahead: 2 };

/** Counts and hashes a file while it passes. */
export class FileTally {
  rows = 0;
  bytes = 0;
  readonly #hash = createHash('sha256');

  add(lines: string, rows: number): Buffer {
    const bytes = Buffer.from(lines);
    this.rows += rows;
    this.bytes += bytes.length;
    this.#hash.update(bytes);
    return bytes;
  }

  /** Call it once. */
  end(): FinishedFile {
    return { rows: this.rows, bytes: this.bytes, sha256: this.#hash.digest() };
  }
}

/**
 * The file of an export in pieces, the same bytes at every run. Each page has its own snapshot:
 * memory stays small, and no snapshot is held for long. Pages fit together because ids and
 * sequences never change.
 */
export async function* fileChunks(
  db: Database,
  row: ExportRow,
  tally: FileTally,
  { limit, ahead } = asItIsTaken,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const { header, line } = fileShape(row.format, row.columns);
  if (header !== '') yield tally.add(header, 0);
  for await (const events of readAhead(pages(db, row, limit, signal), ahead)) {
    yield tally.add(events.map(line).join(''), events.length);
  }
}

async function* pages(
  db: Database,
  row: ExportRow,
  limit: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ExportedEvent[], void> {
  const wanted = rowsOf(row);
  let before: string | null = null;
  for (let more = true; more; ) {
    const read = (visible: Visibility) => {
      // A filter with few matches looks at the whole log.
      visible.tx.allowMinutes?.();
      return nextPage(wanted, visible, before, limit);
    };
    const page = await readVisible(db, row, read, signal);
    if (page.events.length > 0) yield page.events;
    before = page.events.at(-1)?.uuid ?? null;
    more = page.more;
  }
}

/** Further rows are not counted. */
const countMax = Number.MAX_SAFE_INTEGER - 1;

/** The number of rows of the file; null if counting fails or takes too long: progress lacks it. */
export function countFileRows(db: Database, row: ExportRow): Promise<number | null> {
  const { filter, beforeSequence, oldestId } = rowsOf(row);
  const count = (visible: Visibility) =>
    countEvents({ ...filter, beforeSequence }, { ...visible, oldest: oldestId }, countMax);
  return readVisible(db, row, count).catch(() => null);
}

function rowsOf({ filters, format, columns, beforeSequence, oldestId }: ExportRow): FileRows {
  const { withStates } = fileShape(format, columns);
  return { filter: storedFilter(filters), beforeSequence, oldestId, withStates };
}

// Reads the classes again, because rows may move; what the plan shows may not change.
function readVisible<T>(
  db: Database,
  { tenantId, createdAtMs }: ExportRow,
  read: (visible: Visibility) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return readShown(db, tenantId, createdAtMs, read, signal);
}
