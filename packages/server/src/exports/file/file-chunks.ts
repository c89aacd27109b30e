import { createHash } from 'node:crypto';
import { type EventFilter, firstUuidAt, storedFilter } from '@indelible/protocol';
import { countEvents } from '../../events/count.store.ts';
import { lowestShown, type Visibility } from '../../events/filter-sql.store.ts';
import { getEvent, readShown } from '../../events/store.ts';
import { type Database, tookTooLong } from '../../postgres/db.ts';
import { readAhead } from '../../postgres/read-ahead.ts';
import type { ExportRow, FinishedFile } from '../store.ts';
import { fileShape } from './export-file.ts';
import { LineBuffer } from './line-buffer.ts';
import { type ExportedEvent, uuidBytes } from './packed-event.ts';
import { firstSize, nextSize, type PageSize, shortestSize } from './page-size.ts';
import { type FileRows, type IdRange, nextRows, type PackedPage } from './rows.store.ts';
import { advance, beginWalk, nextRange, shorten, type TimeWalk } from './time-walk.ts';

/** How the pages of a file are read. */
interface Pace {
  firstSize: PageSize;
  /** Pages to read in advance. */
  ahead: number;
  /** Awaited between two pages. */
  between(): Promise<void>;
}

/** For a file that is sent while it is made. A slow reader holds at most one page in memory. */
const asItIsTaken: Pace = { firstSize: shortestSize, ahead: 0, between: async () => {} };

/** For a file that is written at full speed. */
export function asItIsWritten(between: () => Promise<void>): Pace {
  // One would be too few: half of the time of a page is waiting for answers.
  return { firstSize, ahead: 2, between };
}

/** Counts and hashes a file while it passes. */
export class FileTally {
  rows = 0;
  bytes = 0;
  readonly #hash = createHash('sha256');

  add(lines: Buffer, rows: number): Buffer {
    this.rows += rows;
    this.bytes += lines.length;
    this.#hash.update(lines);
    return lines;
  }

  /** Call it once. */
  end(): FinishedFile {
    return { rows: this.rows, bytes: this.bytes, sha256: this.#hash.digest() };
  }
}

/**
 * The file of an export in pieces, the same bytes at every run. A piece is valid until the next one
 * is requested: they share a buffer, because otherwise a million rows leave hundreds of megabytes
 * of garbage. Each page has its own snapshot: memory stays small, and no snapshot is held for long.
 * Pages fit together because ids and sequences never change.
 */
export async function* fileChunks(
  db: Database,
  row: ExportRow,
  tally: FileTally,
  pace = asItIsTaken,
): AsyncGenerator<Buffer, void, undefined> {
  const { header, line, writeLine } = fileShape(row.format, row.columns);
  const buffer = new LineBuffer(writeLine);
  if (header !== '') yield tally.add(Buffer.from(header), 0);
  for await (const page of pages(db, row, pace)) {
    for (const piece of buffer.piecesOf(page)) {
      if ('lines' in piece) yield tally.add(piece.lines, piece.rows);
      else yield tally.add(buffer.hold(line(await readAlone(db, row, piece.alone))), 1);
    }
  }
}

async function* pages(
  db: Database,
  row: ExportRow,
  { firstSize, ahead, between }: Pace,
): AsyncGenerator<string[], void> {
  for await (const rows of readAhead(readPages(db, row, firstSize), ahead)) {
    await between();
    if (rows.length > 0) yield rows;
  }
}

async function* readPages(
  db: Database,
  row: ExportRow,
  firstSize: PageSize,
): AsyncGenerator<string[], void> {
  const wanted = rowsOf(row);
  const { classes } = await readVisible(db, row, async (visible) => visible);
  const walk = beginWalk(newestMs(row.createdAtMs, wanted.filter), oldestOf(wanted, classes));
  for (let start: Start | null = { walk, size: firstSize }; start !== null; ) {
    const { size }: Start = start;
    const page = await readPage(start, (range) =>
      readVisible(db, row, (visible) => nextRows(wanted, visible, range, size)),
    );
    yield page.rows;
    start = page.next;
  }
}

function newestMs(createdAtMs: number, { to }: EventFilter): number {
  return to === undefined ? createdAtMs : Math.min(createdAtMs, to);
}

function oldestOf({ filter, oldestId }: FileRows, classes: readonly number[]): string {
  const lowest = lowestShown({ classes, oldest: oldestId });
  const from = filter.from === undefined ? lowest : firstUuidAt(filter.from);
  return from > lowest ? from : lowest;
}

/** Start and size limit of a page. */
interface Start {
  walk: TimeWalk;
  size: PageSize;
}

/**
 * The next page, and the position after it. If a statement takes too long, reads shorter ranges.
 */
async function readPage(
  { walk, size }: Start,
  read: (range: IdRange) => Promise<PackedPage>,
): Promise<{ rows: string[]; next: Start | null }> {
  const began = performance.now();
  try {
    const { rows, alone } = await read(nextRange(walk));
    const last = rows.at(-1)?.slice(0, uuidBytes) ?? null;
    const found = { last, more: rows.length === size.rows, tookMs: performance.now() - began };
    const behind = advance(walk, found);
    const characters = rows.reduce((sum, row) => sum + row.length, 0);
    const after = nextSize(size, { rows: rows.length, alone, characters });
    return { rows, next: behind && { walk: behind, size: after } };
  } catch (error) {
    const shorter = tookTooLong(error) ? shorten(walk) : null;
    if (shorter === null) throw error;
    return readPage({ walk: shorter, size }, read);
  }
}

async function readAlone(db: Database, row: ExportRow, uuid: string): Promise<ExportedEvent> {
  const event = await readVisible(db, row, (visible) =>
    getEvent(uuid, { ...visible, oldest: row.oldestId }),
  );
  if (!event) throw new Error('an event went while it was exported');
  return event;
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
  const { fields, withStates } = fileShape(format, columns);
  return { filter: storedFilter(filters), beforeSequence, oldestId, fields, withStates };
}

// Reads the classes again, because rows may move; what the plan shows may not change.
function readVisible<T>(
  db: Database,
  { tenantId, createdAtMs }: ExportRow,
  read: (visible: Visibility) => Promise<T>,
): Promise<T> {
  return readShown(db, tenantId, createdAtMs, read);
}
