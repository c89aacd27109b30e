import { canonicalize, type JsonValue } from '../json/canonical.ts';
import { FormatError } from '../log/format-error.ts';
import { isObject } from './check-event.ts';
import { type CommittedEvent, type EventField, eventFields } from './event-fields.ts';
import { uuidFromEventId, uuidTimeMs } from './event-id.ts';

/** A UUID of any version, in the spelling that is hashed. */
export const lowerUuidPattern = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

const lowerUuid = new RegExp(`^${lowerUuidPattern}$`);

/** An event as the single read shows it, flattened: committed and derived fields. */
export interface ShownEvent extends CommittedEvent {
  /** The `evt_audit_…` form of `uuid`. */
  id: string;
  /** As shown; `derivedFieldProblem` compares it with the id. */
  timestamp: string;
  sequence: number;
  /** As shown, in milliseconds; the log entry holds microseconds. */
  receivedAt: string;
  hasState: boolean;
}

/**
 * Reads the JSON value of `GET /api/audit-logs/{id}`, parsed by `parseStrictJson`. Throws
 * FormatError unless it has exactly the members of an event with the right types: an extra member
 * would be shown but not proven. Ids must be lower case, because they are hashed as text.
 */
export function committedEventOf(json: unknown): ShownEvent {
  const event = objectOf(json, membersOf(null), 'the event');
  const shown: Record<string, unknown> = {};
  for (const owner of owners) objectOf(event[owner], membersOf(owner), owner);
  for (const field of eventFields) {
    const { path, owner, name, kind, nullable } = field;
    const value = (owner === null ? event : (event[owner] as Record<string, unknown>))[name];
    const isNull = nullable && value === null;
    shown[shownKey(field)] = isNull ? null : readers[kind](value, path);
  }
  const id = shown.uuid as string;
  return { ...(shown as unknown as ShownEvent), id, uuid: shownUuidOf(id) ?? refuse('id') };
}

/** The member of a `ShownEvent` that holds a field. Times are texts there. */
export const shownKey = ({ name, key }: EventField): string =>
  key === undefined || key === 'receivedAtMs' ? name : key;

const owners = [...new Set(eventFields.flatMap(({ owner }) => owner ?? []))];

const membersOf = (owner: string | null): number =>
  owner === null
    ? owners.length + eventFields.filter((field) => field.owner === null).length
    : eventFields.filter((field) => field.owner === owner).length;

type Reader = (value: unknown, where: string) => unknown;

const readers: Record<EventField['kind'], Reader> = {
  eventId: textOf,
  uuid: lowerUuidOf,
  ...{ word: textOf, role: textOf, email: textOf, ip: textOf, text: textOf, time: textOf },
  ...{ category: textOf, recordedBy: textOf },
  boolean: (value, where) => (typeof value === 'boolean' ? value : refuse(where)),
  sequence: (value, where) => (isSequence(value) ? value : refuse(where)),
  diff: canonicalObject,
  state: canonicalObject,
};

// The end of the year 9999. Later times have no timestamp text.
const eventTimeMaxMs = 253_402_300_799_999;

/** The event's UUID; null if its time has no timestamp text. */
export function shownUuidOf(id: string): string | null {
  const uuid = uuidFromEventId(id);
  return uuid !== null && uuidTimeMs(uuid) <= eventTimeMaxMs ? uuid : null;
}

function refuse(where: string): never {
  throw new FormatError(`${where} is not what an event has there`);
}

// Each member is read and type-checked below, so an equal count means that none is missing and none
// is extra.
function objectOf(value: unknown, members: number, where: string): Record<string, unknown> {
  return isObject(value) && Object.keys(value).length === members ? value : refuse(where);
}

export function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function lowerUuidOf(value: unknown, where: string): string {
  return typeof value === 'string' && lowerUuid.test(value) ? value : refuse(where);
}

function textOf(value: unknown, where: string): string {
  return typeof value === 'string' ? value : refuse(where);
}

function canonicalObject(value: unknown, where: string): string {
  if (!isObject(value)) return refuse(where);
  try {
    return canonicalize(value as JsonValue);
  } catch {
    return refuse(where);
  }
}
