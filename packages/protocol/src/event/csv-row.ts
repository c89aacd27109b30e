import { FormatError } from '../log/format-error.ts';
import type { CommittedEvent } from './commitment.ts';
import type { ShownEvent } from './committed-event.ts';
import { eventIdFromUuid, uuidTimeMs } from './event-id.ts';
import { formatTimestamp, parseTimestamp } from './timestamp.ts';

/* One event as a line of CSV: RFC 4180, CRLF, UTF-8 without a byte order mark. */

/** The standard columns, in the order in which they are written unless others are asked for. */
export const csvColumns = [
  'id',
  'timestamp',
  'tenantId',
  'actor.id',
  'actor.email',
  'actor.role',
  'actor.ip',
  'actor.userAgent',
  'action',
  'resource.type',
  'resource.id',
  'resource.name',
  'diff',
  'crossTenant',
  'reason',
  'category',
  'sequence',
] as const;

/** Columns that are written only when they are asked for. */
export const csvFurtherColumns = ['receivedAt', 'recordedBy', 'before', 'after'] as const;

export type CsvColumn = (typeof csvColumns)[number] | (typeof csvFurtherColumns)[number];

/** What a line is made of: an event as it is stored. */
export interface CsvEvent extends CommittedEvent {
  sequence: number;
  receivedAtMs: number;
}

/** The same of an event as the API shows it; FormatError when it was received at no moment. */
export function csvEventOf(event: ShownEvent): CsvEvent {
  const receivedAtMs = parseTimestamp(event.receivedAt);
  if (receivedAtMs === null) throw new FormatError('receivedAt is no moment');
  return { ...event, receivedAtMs };
}

/** Whether `name` is exactly the name of a column. */
export function isCsvColumn(name: string): name is CsvColumn {
  return Object.hasOwn(cells, name);
}

/** The first line: the names, comma-separated, and CRLF. */
export function csvHeader(columns: readonly CsvColumn[] = csvColumns): string {
  return `${columns.join(',')}\r\n`;
}

/**
 * The line of an event, with its CRLF. `null` is an empty cell; `diff`, the states and `recordedBy`
 * are one JSON cell each, in which a semicolon is written `\u003b`: a spreadsheet that takes it for
 * the separator would begin a cell, and with it perhaps a formula, in the middle of a text. Text
 * that a spreadsheet could take for a formula gets a `'` in front: a reader of the file who wants
 * the exact text takes one leading `'` off again.
 */
export function csvRow(event: CsvEvent, columns: readonly CsvColumn[] = csvColumns): string {
  return `${columns.map((column) => cells[column](event)).join(',')}\r\n`;
}

/** The same as it was written before semicolons of JSON cells were escaped; files live on. */
export function formerCsvRow(event: CsvEvent, columns: readonly CsvColumn[] = csvColumns): string {
  return `${columns.map((column) => (formerCells[column] ?? cells[column])(event)).join(',')}\r\n`;
}

const cells: Record<CsvColumn, (e: CsvEvent) => string> = {
  id: (e) => eventIdFromUuid(e.uuid),
  timestamp: (e) => formatTimestamp(uuidTimeMs(e.uuid)),
  tenantId: (e) => e.tenantId,
  'actor.id': (e) => e.actorId,
  'actor.email': (e) => csvTextCell(e.actorEmail),
  'actor.role': (e) => csvTextCell(e.actorRole),
  'actor.ip': (e) => csvTextCell(e.actorIp),
  'actor.userAgent': (e) => csvTextCell(e.actorUserAgent),
  action: (e) => csvTextCell(e.action),
  'resource.type': (e) => csvTextCell(e.resourceType),
  'resource.id': (e) => e.resourceId,
  'resource.name': (e) => csvTextCell(e.resourceName),
  diff: (e) => jsonCell(e.diff),
  crossTenant: (e) => String(e.crossTenant),
  reason: (e) => csvTextCell(e.reason),
  category: (e) => csvTextCell(e.category),
  sequence: (e) => String(e.sequence),
  receivedAt: (e) => formatTimestamp(e.receivedAtMs),
  recordedBy: (e) => quoted(JSON.stringify({ id: e.recordedById, kind: e.recordedByKind })),
  before: (e) => jsonCell(e.before ?? ''),
  after: (e) => jsonCell(e.after ?? ''),
};

const formerCells: Partial<typeof cells> = {
  diff: (e) => quoted(e.diff),
  before: (e) => quoted(e.before ?? ''),
  after: (e) => quoted(e.after ?? ''),
};

// A spreadsheet skips what cannot be seen, and some take the full-width forms for the plain ones.
// The apostrophe is in the list so that every leading one that was not there can be told.
const formulaStart =
  /^(?:[\t\r\n]|[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@'＝＋－＠＇])/u;

/** Neither a formula nor in need of quotes, as nearly every cell is: one look instead of two. */
const plain = /^[0-9A-Za-z][^",\r\n]*$/;

/** The cell of a text, guarded and quoted where it needs that; null is empty. */
export function csvTextCell(text: string | null): string {
  if (text === null) return '';
  if (plain.test(text)) return text;
  return quoted(formulaStart.test(text) ? `'${text}` : text);
}

// In JSON a semicolon stands within strings alone, where its escape means the same.
function jsonCell(json: string): string {
  return quoted(json.replaceAll(';', '\\u003b'));
}

function quoted(text: string): string {
  if (text.includes('"')) return `"${text.replaceAll('"', '""')}"`;
  return /[,\r\n]/.test(text) ? `"${text}"` : text;
}
