import {
  actorAddress,
  type CommittedEvent,
  contextOf,
  personKeys,
  type StoredField,
  storedFields,
} from '@indelible/protocol';
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
  /** Only with events of version 2. */
  copies?: SearchCopies;
}

interface InsertedColumn {
  column: string;
  type: string;
  /** Applied to each value. */
  cast?: string;
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
    case 'context':
      return { column, type: 'json', arrayOf: (rows) => jsonArray(values(rows) as string[]) };
    default:
      return { column, type: 'text', arrayOf: (rows) => textArray(values(rows) as string[]) };
  }
}

/** What searches compare, of the fields of version 2; no proof covers these copies. */
export interface SearchCopies {
  outcome: string | null;
  actorType: string | null;
  correlationId: string | null;
  /** Ids and e-mail addresses, these in lower case, of the people the actor acts for. */
  onBehalfOf: string[] | null;
}

export function searchCopies(event: CommittedEvent): SearchCopies {
  const { outcome, actor, correlationId } = contextOf(event);
  const persons = personKeys(event);
  return {
    outcome: outcome ?? null,
    actorType: actor?.type ?? null,
    correlationId: correlationId ?? null,
    onBehalfOf: persons.length === 0 ? null : persons,
  };
}

const copyColumns: { [Key in keyof SearchCopies]: string } = {
  outcome: 'outcome',
  actorType: 'actor_type',
  correlationId: 'correlation_id',
  onBehalfOf: 'on_behalf_of',
};

/** The same as SQL, to compare them with the event. */
export const copiesSelected = Object.entries(copyColumns)
  .map(([key, column]) => `${column} AS "${key}"`)
  .join(', ');

const isLater = ({ key }: StoredField) => key === 'context' || key === 'contextIdentity';

/** The columns of an event of version 1. */
const insertedColumns: readonly InsertedColumn[] = [
  ...storedFields.filter((field) => !isLater(field)).map(columnOf),
  {
    ...{ column: 'actor_email_key', type: 'text' },
    arrayOf: (rows) => textArray(rows.map(({ event }) => actorAddress(event))),
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

/** With those of version 2: a batch without such an event does not pay for them. */
const allColumns: readonly InsertedColumn[] = [
  ...insertedColumns,
  ...storedFields.filter(isLater).map(columnOf),
  ...(Object.keys(copyColumns) as (keyof SearchCopies)[]).map((key) => ({
    column: copyColumns[key],
    type: 'text',
    ...(key === 'onBehalfOf' ? { cast: '::text[]' } : {}),
    arrayOf: (rows: readonly InsertedRow[]) =>
      textArray(rows.map(({ copies }) => literalOf(copies?.[key] ?? null))),
  })),
];

/** A list as the text of an array: PostgreSQL would flatten an array of arrays. */
function literalOf(value: string | readonly string[] | null): string | null {
  if (typeof value === 'string' || value === null) return value;
  return `{${value.map((each) => `"${each.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

const insertOf = (columns: readonly InsertedColumn[]) => {
  const names = columns.map(({ column }) => column).join(', ');
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ');
  const values = columns.map(({ column, cast = '' }) => `u.${column}${cast}`).join(', ');
  return `INSERT INTO audit_events (${names}) SELECT ${values} FROM unnest(${arrays}) u (${names})`;
};

const inserts = {
  narrow: { columns: insertedColumns, text: insertOf(insertedColumns) },
  wide: { columns: allColumns, text: insertOf(allColumns) },
};

/** Inserts rows of any tenants; returns how many were new, because ids may exist already. */
export async function insertEvents(
  tx: WriterTx,
  rows: readonly InsertedRow[],
  mayRepeat: boolean,
): Promise<number> {
  if (rows.length === 0) return 0;
  const isWide = rows.some(({ event }) => event.context !== null || event.contextIdentity !== null);
  const { columns, text } = inserts[isWide ? 'wide' : 'narrow'];
  const whole = isWide ? rows.map((row) => ({ ...row, copies: searchCopies(row.event) })) : rows;
  const { rowCount } = await tx.query({
    name: `${mayRepeat ? 'insert' : 'restore'}-events${isWide ? '-2' : ''}`,
    text: mayRepeat ? `${text} ON CONFLICT DO NOTHING` : text,
    values: columns.map(({ arrayOf }) => arrayOf(whole)),
  });
  return rowCount ?? 0;
}
