import {
  type CsvColumn,
  type CsvEvent,
  eventFields,
  isContextColumn,
  type StoredField,
  storedFields,
} from '@indelible/protocol';
import type { StoredEvent } from '../../events/prepared-event.ts';

/*
 * The database sends each row as one text: its id and fields, separated by U+001F, because for a
 * million rows the cost grows with the number of columns. A large event is sent as its id only. A
 * text that contains the separator gives a wrong number of fields; such an event is also read
 * separately.
 */

export interface ExportedEvent extends CsvEvent {
  /** JSON text of the hashes of erased segments by name. */
  erased?: string | null;
}

export const fieldEnd = 0x1f;
export const uuidBytes = 36;

/** A field, as PostgreSQL packs it and as it is packed from an event. */
export interface PackedField {
  sql: string;
  of(event: StoredEvent): string;
}

/** A row of these fields, of an event. */
export function packedEvent(event: StoredEvent, fields: readonly PackedField[]): string {
  return [event.uuid, ...fields.map(({ of }) => of(event))].join('\u001f');
}

const textOf = (key: string) => (event: StoredEvent) =>
  String((event as unknown as Record<string, unknown>)[key] ?? '');

// Empty text and NULL are equal, as when events are taken; NULL itself would be skipped.
const orEmpty = (column: string) => `coalesce(${column}, '')`;

/** The packed form of a column whose text is that of its cell. */
const packedColumn = ({
  column,
  kind,
  nullable,
}: Pick<StoredField, 'column' | 'kind' | 'nullable'>): string => {
  if (kind === 'boolean') return `${column}::text`;
  if (kind === 'state' || kind === 'context') return orEmpty(`${column}::text`);
  return nullable ? orEmpty(column) : column;
};

const cellFields = new Map<CsvColumn, PackedField>([
  ...eventFields.flatMap((field) => {
    const { key, column, path } = field;
    if (!key || !column) return [];
    const packed = { sql: packedColumn({ ...field, column }), of: textOf(key) };
    return [[path as CsvColumn, packed] as const];
  }),
  [
    'receivedAt',
    {
      sql: `to_char(received_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
      of: ({ receivedAtMs }) => new Date(receivedAtMs).toISOString(),
    },
  ],
  [
    'recordedBy',
    {
      sql: `concat('{"id":"', recorded_by_id, '","kind":', to_json(recorded_by_kind), '}')`,
      of: ({ recordedById: id, recordedByKind: kind }) => JSON.stringify({ id, kind }),
    },
  ],
]);

/** Both texts of the fields of version 2, which have no column of their own. */
const contextPair: readonly PackedField[] = storedFields
  .filter(({ kind }) => kind === 'context')
  .map((field) => ({ sql: packedColumn(field), of: textOf(field.key) }));

/**
 * The packed fields of these columns; `id` and `timestamp` come from the id. With columns of
 * version 2, `context` and `contextIdentity` come first.
 */
export function csvFieldsOf(columns: readonly CsvColumn[]): PackedField[] {
  const own = columns.flatMap((name) => (name === 'id' ? [] : (cellFields.get(name) ?? [])));
  return columns.some(isContextColumn) ? [...contextPair, ...own] : own;
}

/** The fields of a whole event after its id, in packed order. */
const wholeEvent = storedFields.filter(({ kind }) => kind !== 'eventId');

/** The packed fields of a whole event, in the order of `unpackEvent`. */
export const wholeFields: readonly PackedField[] = [
  ...wholeEvent.map((field) => ({
    sql:
      field.kind === 'time'
        ? `floor(extract(epoch FROM ${field.column}) * 1000)`
        : packedColumn(field),
    of: textOf(field.key),
  })),
  { sql: orEmpty('erased::text'), of: textOf('erased') },
];

const readers = wholeEvent.map(({ key, kind, nullable }) => {
  if (kind === 'boolean') return { key, read: (text: string) => text === 'true' };
  if (kind === 'sequence' || kind === 'time') return { key, read: Number };
  return { key, read: nullable ? (text: string) => text || null : (text: string) => text };
});

const blank: Record<string, unknown> = Object.fromEntries(
  [...storedFields.map(({ key }) => key), 'erased'].map((key) => [key, null]),
);

/** The event of a packed row of `wholeFields`; null if it must be read separately. */
export function unpackEvent(row: string): ExportedEvent | null {
  const parts = row.split('\u001f');
  if (parts.length !== 1 + wholeFields.length) return null;
  // Copying a literal is twice as fast as adding members one by one.
  const event: Record<string, unknown> = { ...blank };
  event.uuid = parts[0];
  event.erased = parts[parts.length - 1] || null;
  for (let at = 0; at < readers.length; at += 1) {
    const { key, read } = readers[at] as (typeof readers)[number];
    event[key] = read(parts[at + 1] ?? '');
  }
  return event as unknown as ExportedEvent;
}
