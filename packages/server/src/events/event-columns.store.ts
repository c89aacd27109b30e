import { type CommittedEvent, emailKey, type StoredField, storedFields } from '@indelible/protocol';
import {
  boolArray,
  byteaArray,
  int2Array,
  int8Array,
  jsonArray,
  textArray,
  timeArray,
  uuidArray,
  type WriterTx,
} from '../postgres/index.ts';

/* The columns of `audit_events`: those of the field table, and some of the store's own. */

/** The columns of a `StoredEvent` without its states, for statements that read whole events. */
export const storedColumns = [
  ...storedFields
    .filter(({ kind }) => kind !== 'state')
    .map(({ column, key }) => `${column} AS "${key}"`),
  ...['salts', 'erased'],
].join(', ');

/** An event with its sequence, ready to insert. */
export interface InsertedRow {
  event: CommittedEvent;
  retentionClass: number;
  sequence: number;
  receivedAtUs: number;
  salts: Uint8Array;
  /** JSON text of the hashes of erased segments by name; null if none is erased. */
  erased: string | null;
}

interface InsertedColumn {
  column: string;
  type: string;
  arrayOf(rows: readonly InsertedRow[]): Buffer;
}

function columnOf({ key, column, kind }: StoredField): InsertedColumn {
  const values = (rows: readonly InsertedRow[]) =>
    rows.map(({ event }) => event[key as keyof CommittedEvent]);
  switch (kind) {
    case 'sequence':
      return { column, type: 'int8', arrayOf: (rows) => int8Array(rows.map((r) => r.sequence)) };
    case 'time':
      return {
        ...{ column, type: 'timestamptz' },
        arrayOf: (rows) => timeArray(rows.map(({ receivedAtUs }) => receivedAtUs)),
      };
    case 'eventId':
    case 'uuid':
      return { column, type: 'uuid', arrayOf: (rows) => uuidArray(values(rows) as string[]) };
    case 'boolean':
      return { column, type: 'bool', arrayOf: (rows) => boolArray(values(rows) as boolean[]) };
    case 'diff':
    case 'state':
      return { column, type: 'json', arrayOf: (rows) => jsonArray(values(rows) as string[]) };
    default:
      return { column, type: 'text', arrayOf: (rows) => textArray(values(rows) as string[]) };
  }
}

const insertedColumns: readonly InsertedColumn[] = [
  ...storedFields.map(columnOf),
  {
    ...{ column: 'actor_email_key', type: 'text' },
    arrayOf: (rows) => textArray(rows.map(({ event }) => emailKey(event.actorEmail ?? ''))),
  },
  {
    ...{ column: 'retention_class', type: 'int2' },
    arrayOf: (rows) => int2Array(rows.map(({ retentionClass }) => retentionClass)),
  },
  {
    ...{ column: 'salts', type: 'bytea' },
    arrayOf: (rows) => byteaArray(rows.map(({ salts }) => salts)),
  },
  {
    ...{ column: 'erased', type: 'json' },
    arrayOf: (rows) => jsonArray(rows.map(({ erased }) => erased)),
  },
];

const insert = `INSERT INTO audit_events (${insertedColumns.map(({ column }) => column).join(', ')})
  SELECT * FROM unnest(${insertedColumns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})`;

/** Inserts rows of any tenants; returns how many were new, because ids may exist already. */
export async function insertEvents(
  tx: WriterTx,
  rows: readonly InsertedRow[],
  mayRepeat: boolean,
): Promise<number> {
  if (rows.length === 0) return 0;
  const { rowCount } = await tx.query({
    name: mayRepeat ? 'insert-events' : 'restore-events',
    text: mayRepeat ? `${insert} ON CONFLICT DO NOTHING` : insert,
    values: insertedColumns.map(({ arrayOf }) => arrayOf(rows)),
  });
  return rowCount ?? 0;
}
