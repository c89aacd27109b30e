import {
  actorAddress,
  type CommittedEvent,
  contextOf,
  longFields,
  personKeys,
  type StoredField,
  storedFields,
} from '@indelible/protocol';
import { type Recorded, recordOf } from '../log/store.ts';
import type { WriterTx } from '../postgres/db.ts';
import { callForTenants } from '../postgres/engine.ts';
import {
  boolArray,
  byteaArray,
  int2Array,
  int8Array,
  jsonArray,
  textArray,
  timeArray,
  uuidArray,
} from '../postgres/pg-arrays.ts';

/* The columns of `audit_events`: those of the field table, and some of the store's own. */

/** The columns of a `StoredEvent` without its states, for statements that read whole events. */
export const storedColumns = [
  ...storedFields
    .filter(({ kind }) => kind !== 'state')
    .map(({ column, key }) => `${column} AS "${key}"`),
  ...['salts', 'erased'],
].join(', ');

/** The bytes of an event's long texts; `size` is that of a column. */
export const longBytes = (
  withStates: boolean,
  size = (column: string) => `octet_length(${column}::text)`,
): string =>
  longFields(withStates)
    .map(({ column }) => `coalesce(${size(column)}, 0)`)
    .join(' + ');

/** An event with its sequence, ready to insert. */
export interface InsertedRow {
  event: CommittedEvent;
  retentionClass: number;
  sequence: number;
  receivedAtUs: number;
  salts: Uint8Array;
  /** JSON text of the hashes of erased segments by name; null if none is erased. */
  erased: string | null;
  /** The number that a recorder or outbox has given to a new event. */
  source?: { id: string; sequence: number } | undefined;
  /** Only with events of version 2. */
  copies?: SearchCopies;
}

/** One parameter of the database function `record_events`: a column of all rows. */
type ArrayOf = (rows: readonly InsertedRow[]) => Buffer;

function arrayOf({ key, kind }: StoredField): ArrayOf {
  const values = (rows: readonly InsertedRow[]) =>
    rows.map(({ event }) => event[key as keyof CommittedEvent]);
  switch (kind) {
    case 'sequence':
      return (rows) => int8Array(rows.map(({ sequence }) => sequence));
    case 'time':
      return (rows) => timeArray(rows.map(({ receivedAtUs }) => receivedAtUs));
    case 'eventId':
    case 'uuid':
    case 'tenant':
      return (rows) => uuidArray(values(rows) as string[]);
    case 'boolean':
      return (rows) => boolArray(values(rows) as boolean[]);
    case 'diff':
    case 'state':
    case 'context':
      return (rows) => jsonArray(values(rows) as string[]);
    default:
      return (rows) => textArray(values(rows) as string[]);
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

/** Those of an event of version 1. */
const arrays: readonly ArrayOf[] = [
  ...storedFields.filter((field) => !isLater(field)).map(arrayOf),
  (rows) => textArray(rows.map(({ event }) => actorAddress(event))),
  (rows) => int2Array(rows.map(({ retentionClass }) => retentionClass)),
  (rows) => byteaArray(rows.map(({ salts }) => salts)),
  (rows) => jsonArray(rows.map(({ erased }) => erased)),
];

/** Those of version 2. A batch without such an event leaves them empty, which makes nulls. */
const laterArrays: readonly ArrayOf[] = [
  ...storedFields.filter(isLater).map(arrayOf),
  ...(Object.keys(copyColumns) as (keyof SearchCopies)[]).map(
    (key): ArrayOf =>
      (rows) =>
        textArray(rows.map(({ copies }) => literalOf(copies?.[key] ?? null))),
  ),
];

/** A list as the text of an array: PostgreSQL would flatten an array of arrays. */
function literalOf(value: string | readonly string[] | null): string | null {
  if (typeof value === 'string' || value === null) return value;
  return `{${value.map((each) => `"${each.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}

/** The events as the last parameters of `record_events`. */
export function eventColumns(rows: readonly InsertedRow[]): Buffer[] {
  const isWide = rows.some(({ event }) => event.context !== null || event.contextIdentity !== null);
  const later = isWide ? rows.map((row) => ({ ...row, copies: searchCopies(row.event) })) : [];
  const numbered = rows.some(({ source }) => source) ? rows : [];
  return [
    ...arrays.map((of) => of(rows)),
    ...laterArrays.map((of) => of(later)),
    textArray(numbered.map(({ source }) => source?.id ?? null)),
    int8Array(numbered.map(({ source }) => source?.sequence ?? 0)),
  ];
}

/** Inserts all rows of a tenant, or none if one of its ids exists; returns how many of all. */
export async function insertEvents(tx: WriterTx, rows: readonly InsertedRow[]): Promise<number> {
  const tenantOf = ({ event }: InsertedRow) => event.tenantId;
  const insertOf = (home: string, own: readonly InsertedRow[]) =>
    recordOf(home, [], eventColumns(own));
  const answers = await callForTenants<InsertedRow, Recorded>(tx, rows, tenantOf, insertOf);
  return answers.reduce((sum, { stored }) => sum + (stored ?? 0), 0);
}
