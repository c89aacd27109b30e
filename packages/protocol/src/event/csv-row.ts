import { canonicalize, type JsonValue } from '../json/canonical.ts';
import { contextOf, type EventContext, valueAt } from './context.ts';
import {
  type CsvField,
  contextFields,
  type EventField,
  eventFields,
  type FieldPath,
  type StoredFields,
} from './event-fields.ts';
import { eventIdFromUuid, uuidTimeMs } from './event-id.ts';
import { formatTimestamp } from './timestamp.ts';

/* One event as a line of CSV: RFC 4180, CRLF, UTF-8 without a byte order mark. */

/** Standard columns of version 2: behind the others, so that those keep their places. */
const appended = [
  'outcome',
  'actor.name',
  'actor.externalId',
  'onBehalfOf',
  'resource.externalId',
  'targets',
  'metadata',
] as const satisfies readonly CsvField<'further'>[];

/** The standard columns, in their default order. */
export const csvColumns = [...columnsOf('standard'), ...appended];

const contextNames: ReadonlySet<string> = new Set(contextFields.map(({ path }) => path));

/** Columns that are written only on request. */
export const csvFurtherColumns: readonly (CsvField<'further'> | 'recordedBy')[] = [
  ...columnsOf('further').filter((name) => !isState(name) && !isContextColumn(name)),
  'recordedBy', // both of its fields in one cell
  ...columnsOf('further').filter(isState),
  ...columnsOf('further').filter((name) => isContextColumn(name) && !isAppended(name)),
];

function isState(name: FieldPath): boolean {
  return eventFields.some(({ path, kind }) => path === name && kind === 'state');
}

function isContextColumn(name: string): boolean {
  return contextNames.has(name);
}

function isAppended(name: string): boolean {
  return appended.some((each) => each === name);
}

function columnsOf<Kind extends 'standard' | 'further'>(kind: Kind): readonly CsvField<Kind>[] {
  return eventFields.filter(({ csv }) => csv === kind).map(({ path }) => path as CsvField<Kind>);
}

export type CsvColumn = CsvField<'standard' | 'further'> | 'recordedBy';

/** The content of a line: an event as it is stored. */
export type CsvEvent = StoredFields;

/** The header line: column names and CRLF. */
export function csvHeader(columns: readonly CsvColumn[] = csvColumns): string {
  return `${columns.join(',')}\r\n`;
}

/**
 * The line of an event, with CRLF. `null` is an empty cell. `diff`, the states and `recordedBy` are
 * one JSON cell each, with semicolons written as `\u003b`: otherwise a spreadsheet that splits at
 * semicolons could start a cell, and a formula, inside a text.
 * A text that a spreadsheet could read as a formula gets a leading `'`. To get the exact text, a
 * reader removes one leading `'`.
 */
export function csvRow(event: CsvEvent, columns: readonly CsvColumn[] = csvColumns): string {
  const context = columns.some(isContextColumn) ? contextOf(event) : {};
  return `${columns.map((column) => cells[column](event, context)).join(',')}\r\n`;
}

type Cell = (event: CsvEvent, context: EventContext) => string;

/** Kinds whose texts need neither a formula guard nor quotes. */
const bareKinds: ReadonlySet<EventField['kind']> = new Set([
  'uuid',
  'tenant',
  'boolean',
  'sequence',
]);

const cells = Object.fromEntries(
  eventFields.flatMap((field) => (field.csv === undefined ? [] : [[field.path, cellOf(field)]])),
) as Record<CsvColumn, Cell>;
cells.recordedBy = ({ recordedById: id, recordedByKind: kind }) =>
  jsonCell(JSON.stringify({ id, kind }));

function cellOf(field: EventField): Cell {
  const { kind, key, since } = field;
  if (since === 2) return (_, context) => cellOfValue(valueAt(context, field));
  if (kind === 'eventId') return ({ uuid }) => eventIdFromUuid(uuid);
  if (kind === 'time') {
    return (e) => formatTimestamp(key === 'receivedAtMs' ? e.receivedAtMs : uuidTimeMs(e.uuid));
  }
  if (key === undefined) throw new RangeError('a cell without a value');
  if (kind === 'diff' || kind === 'state') return (e) => jsonCell((e[key] ?? '') as string);
  if (bareKinds.has(kind)) return (e) => String(e[key]);
  return (e) => csvTextCell((e[key] ?? '') as string);
}

// Spreadsheets skip invisible characters, and some treat full-width forms like plain ones. The
// apostrophe is included so that a reader can always remove the added one. The semicolon is
// included because some programs take it for the separator, and a formula may follow.
const formulaStart =
  /^(?:[\t\r\n]|[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]*[=+\-@';＝＋－＠＇])/u;

// LibreOffice takes tabs and semicolons for separators too, unless a person tells it not to.
const separators = /[,;\t\r\n]/;

/** The usual cell: no formula, no quotes needed. One test instead of two. */
const plain = /^[0-9A-Za-z][^",;\t\r\n]*$/;

/** The cell of a text, guarded and quoted if needed. */
function csvTextCell(text: string): string {
  if (plain.test(text)) return text;
  return quoted(formulaStart.test(text) ? `'${text}` : text);
}

// In JSON, semicolons occur only inside strings, where the escape has the same meaning.
function jsonCell(json: string): string {
  return quoted(json.replaceAll(';', '\\u003b'));
}

function cellOfValue(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string'
    ? csvTextCell(value)
    : jsonCell(canonicalize(value as JsonValue));
}

function quoted(text: string): string {
  if (text.includes('"')) return `"${text.replaceAll('"', '""')}"`;
  return separators.test(text) ? `"${text}"` : text;
}
