import {
  actorAddress,
  type CommittedEvent,
  contextOf,
  lateClass,
  personKeys,
  type StoredField,
  storedFields,
} from '@indelible/protocol';
import { type AppendedEvents, appendCall, type Recorded } from '../log/store.ts';
import type { WriterTx } from '../postgres/db.ts';
import { callForTenants } from '../postgres/engine.ts';
import { byteaText } from '../postgres/pg-arrays.ts';
import { copyColumns, type SearchCopies } from './read-columns.store.ts';

/*
 * The columns of `audit_events` as recording writes them: those of the field table, and some of the
 * store's own.
 */

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
}

/** The JSON text of a value in a row; null for none. */
type JsonOf = (row: InsertedRow) => string | null;

function jsonOf({ key, kind }: StoredField): JsonOf {
  const value = ({ event }: InsertedRow) => event[key as keyof CommittedEvent];
  switch (kind) {
    case 'sequence':
      return ({ sequence }) => String(sequence);
    case 'time':
      return ({ receivedAtUs }) => `"${timeText(receivedAtUs)}"`;
    case 'diff':
    case 'state':
    case 'context':
      // Canonical JSON itself: the column keeps the bytes that are hashed.
      return (row) => value(row) as string | null;
    case 'eventId':
    case 'uuid':
    case 'tenant':
      return (row) => `"${value(row)}"`;
    default:
      return (row) => JSON.stringify(value(row));
  }
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

/** The columns of `audit_events`, by name. */
const jsonColumns: readonly [column: string, JsonOf][] = [
  ...storedFields.map((field): [string, JsonOf] => [field.column, jsonOf(field)]),
  ['actor_email_key', ({ event }) => JSON.stringify(actorAddress(event))],
  ['retention_class', ({ retentionClass }) => String(retentionClass)],
  ['salts', ({ salts }) => JSON.stringify(byteaText(salts))],
  ['erased', ({ erased }) => erased],
];

/** A row of `audit_events` as JSON; members without a value are left out, and become null. */
function rowJson(row: InsertedRow): string {
  let members = '';
  for (const [column, jsonOf] of jsonColumns) {
    const json = jsonOf(row);
    if (json !== null && json !== 'null') members += `,"${column}":${json}`;
  }
  const { event } = row;
  const isWide = event.context !== null || event.contextIdentity !== null;
  const copies = isWide ? Object.entries(searchCopies(event)) : [];
  for (const [key, value] of copies)
    members += `,"${copyColumns[key as keyof SearchCopies]}":${JSON.stringify(value)}`;
  return `{${members.slice(1)}}`;
}

/** The events as parameters of `append_events`. */
export function appendedEvents(rows: readonly InsertedRow[]): AppendedEvents {
  const late = rows.filter(({ retentionClass }) => retentionClass === lateClass);
  return {
    events: `[${rows.map(rowJson).join(',')}]`,
    late: [...new Set(late.map(({ event }) => event.tenantId))],
    numbers: rows.flatMap(({ event, source, receivedAtUs }) =>
      source === undefined
        ? []
        : {
            tenant_id: event.tenantId,
            key_id: event.recordedById,
            id: source.id,
            sequence: source.sequence,
            received_at: timeText(receivedAtUs),
          },
    ),
  };
}

/** Microseconds since 1970 as PostgreSQL reads a time. */
function timeText(us: number): string {
  const millisecond = new Date(Math.floor(us / 1_000)).toISOString().slice(0, -1);
  return `${millisecond}${String(us % 1_000).padStart(3, '0')}Z`;
}

/** Inserts all rows of a tenant, or none if one of its ids exists; returns how many of all. */
export async function insertEvents(tx: WriterTx, rows: readonly InsertedRow[]): Promise<number> {
  const tenantOf = ({ event }: InsertedRow) => event.tenantId;
  const insertOf = (home: string, own: readonly InsertedRow[]) =>
    appendCall(home, [], appendedEvents(own));
  const answers = await callForTenants<InsertedRow, Recorded>(tx, rows, tenantOf, insertOf);
  return answers.reduce((sum, { stored }) => sum + stored, 0);
}
