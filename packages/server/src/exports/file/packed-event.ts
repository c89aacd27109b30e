import { type CsvColumn, type CsvEvent, type StoredField, storedFields } from '@indelible/protocol';

/*
 * How rows travel from the database: each as one text, of its id and fields,
 * separated by U+001F: at a million rows, what is read is paid for by the
 * column. An event that is large comes as its id alone; so does, in effect,
 * one whose texts hold the separator: it has not the fields it should have.
 */

/** An event of a file. */
export interface ExportedEvent extends CsvEvent {
  /** JSON text of the hashes of erased segments by name. */
  erased?: string | null;
}

export const fieldEnd = 0x1f;
export const uuidBytes = 36;

// Empty text and NULL are the same, as they are when
// events are taken; NULL itself would be left out.
const orEmpty = (column: string) => `coalesce(${column}, '')`;

/** What is packed of a column whose text is that of its cell. */
const packedColumn = ({ column, kind, nullable }: StoredField): string => {
  if (kind === 'boolean') return `${column}::text`;
  if (kind === 'state') return orEmpty(`${column}::text`);
  return nullable ? orEmpty(column) : column;
};

const cellFields = new Map<CsvColumn, string>([
  ...storedFields.map((field) => [field.path as CsvColumn, packedColumn(field)] as const),
  ['receivedAt', `to_char(received_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`],
  ['recordedBy', `concat('{"id":"', recorded_by_id, '","kind":', to_json(recorded_by_kind), '}')`],
]);

/** SQL of what is packed for the cells of these columns; `id` and `timestamp` come from the id. */
export function csvFieldsOf(columns: readonly CsvColumn[]): string[] {
  return columns.flatMap((name) => (name === 'id' ? [] : (cellFields.get(name) ?? [])));
}

/** The fields of a whole event behind its id, in the order in which they are packed. */
const wholeEvent = storedFields.filter(({ kind }) => kind !== 'eventId');

/** SQL of what is packed of a whole event, in the order in which `unpackEvent` takes it. */
export const wholeFields: readonly string[] = [
  ...wholeEvent.map((field) =>
    field.kind === 'time'
      ? `floor(extract(epoch FROM ${field.column}) * 1000)`
      : packedColumn(field),
  ),
  orEmpty('erased::text'),
];

const readers = wholeEvent.map(({ key, kind, nullable }) => {
  if (kind === 'boolean') return { key, read: (text: string) => text === 'true' };
  if (kind === 'sequence' || kind === 'time') return { key, read: Number };
  return { key, read: nullable ? (text: string) => text || null : (text: string) => text };
});

const blank: Record<string, unknown> = Object.fromEntries(
  [...storedFields.map(({ key }) => key), 'erased'].map((key) => [key, null]),
);

/** The event of a packed row of `wholeFields`; null when it is to be read alone. */
export function unpackEvent(row: string): ExportedEvent | null {
  const parts = row.split('\u001f');
  if (parts.length !== 1 + wholeFields.length) return null;
  // A copy has the shape of a literal; members added one by one would cost twice as much.
  const event: Record<string, unknown> = { ...blank };
  event.uuid = parts[0];
  event.erased = parts[parts.length - 1] || null;
  for (let at = 0; at < readers.length; at += 1) {
    const { key, read } = readers[at] as (typeof readers)[number];
    event[key] = read(parts[at + 1] ?? '');
  }
  return event as unknown as ExportedEvent;
}
