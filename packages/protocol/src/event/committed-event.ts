import { canonicalize, type JsonValue } from '../json/canonical.ts';
import { isCount, isObject } from '../json/strict-json.ts';
import { FormatError } from '../log/bytes.ts';
import { type ContextTexts, contextTexts, laterMembers, valueAt } from './context.ts';
import {
  type CommittedEvent,
  contextFields,
  type EventField,
  eventFields,
  type FieldKind,
} from './event-fields.ts';
import { uuidFromEventId, uuidTimeMs } from './event-id.ts';
import { timeMsMax } from './timestamp.ts';

/** A UUID of any version, in the spelling that is hashed. */
const lowerUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An event as the single read shows it, flattened: committed and derived fields. */
export interface ShownEvent extends CommittedEvent {
  /** The `evt_audit_…` form of `uuid`. */
  id: string;
  /** The shown time; `derivedFieldProblem` compares it with the id. */
  timestamp: string;
  sequence: number;
  /** The shown time, in milliseconds; the log entry holds microseconds. */
  receivedAt: string;
  hasState: boolean;
}

/**
 * Reads the JSON value of `GET /api/audit-logs/{id}`, parsed by `parseStrictJson`. Throws
 * FormatError unless it has the members of an event with the right types. A member that this
 * program does not know is of the context, or of the identity if `personal` names it: the hash
 * proves it there. Ids must be lower case, because they are hashed as text.
 */
export function committedEventOf(json: unknown, personal: readonly string[] = []): ShownEvent {
  const event = objectOf(json, null);
  const shown: Record<string, unknown> = {};
  for (const owner of owners) objectOf(event[owner], owner);
  for (const field of firstFields) {
    const { path, kind, nullable } = field;
    const value = valueAt(event, field);
    shown[shownKey(field)] = nullable && value === null ? null : readers[kind]?.(value, path);
  }
  const id = shown.uuid as string;
  const uuid = shownUuidOf(id) ?? refuse('id');
  return { ...(shown as unknown as ShownEvent), ...shownContext(event, personal), id, uuid };
}

/** The member of a `ShownEvent` that holds a field. Times are texts there. */
const shownKey = ({ name, key }: EventField): string =>
  key === undefined || key === 'receivedAtMs' ? name : key;

/** The fields of version 1, which every event has. */
export const firstFields = eventFields.filter(({ since }) => since === undefined);
const owners = [...new Set(firstFields.flatMap(({ owner }) => owner ?? []))];

type Reader = (value: unknown, where: string) => unknown;

const readers: Partial<Record<FieldKind, Reader>> = {
  eventId: textOf,
  uuid: lowerUuidOf,
  tenant: lowerUuidOf,
  word: textOf,
  role: textOf,
  email: textOf,
  ip: textOf,
  text: textOf,
  time: textOf,
  choice: textOf,
  externalId: textOf,
  traceId: textOf,
  boolean: (value, where) => (typeof value === 'boolean' ? value : refuse(where)),
  sequence: (value, where) => (isCount(value) ? value : refuse(where)),
  diff: canonicalObject,
  state: canonicalObject,
  metadata: canonicalObject,
  texts: canonicalObject,
};

/** Checks the types of the members that the table has. */
function requireContextValue({ kind, members = {}, path }: EventField, value: unknown): void {
  if (kind === 'object') requireMembers(value, members, path);
  else if (kind !== 'list') readers[kind]?.(value, path);
  else for (const object of listOf(value, path)) requireMembers(object, members, path);
}

function requireMembers(object: unknown, members: Members, path: string): void {
  if (!isObject(object)) refuse(path);
  for (const [name, value] of Object.entries(object)) {
    const rule = Object.hasOwn(members, name) ? members[name] : undefined;
    if (rule !== undefined) readers[rule.kind]?.(value, path);
  }
}

type Members = NonNullable<EventField['members']>;

/** A list without members would leave no trace in the texts. */
function listOf(value: unknown, path: string): readonly unknown[] {
  const isFull = Array.isArray(value) && value.some((each) => Object.keys(each ?? {}).length > 0);
  return isFull ? value : refuse(path);
}

/** The texts of the fields of version 2. Throws FormatError unless they have the right types. */
function shownContext(event: object, personal: readonly string[]): ContextTexts {
  for (const field of contextFields) {
    const value = valueAt(event, field);
    if (value !== undefined) requireContextValue(field, value);
  }
  const later = laterMembers(event, personal);
  for (const { owner, name } of later) {
    // Who recorded it is in the segment `event`, and assigning `__proto__` sets no member.
    if (owner === 'recordedBy' || name === '__proto__') refuse(owner ?? 'the event');
  }
  try {
    return contextTexts(event, later, personal);
  } catch {
    return refuse('a field of version 2');
  }
}

/** The event's UUID; null if its time has no timestamp text. */
function shownUuidOf(id: string): string | null {
  const uuid = uuidFromEventId(id);
  return uuid !== null && uuidTimeMs(uuid) <= timeMsMax ? uuid : null;
}

function refuse(where: string): never {
  throw new FormatError(`${where} is not what an event has there`);
}

function objectOf(value: unknown, owner: string | null): Record<string, unknown> {
  return isObject(value) ? value : refuse(owner ?? 'the event');
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
