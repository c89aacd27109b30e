import { canonicalize, type JsonValue } from '../json/canonical.ts';
import { FormatError } from '../log/format-error.ts';
import type { CommittedEvent } from './commitment.ts';
import { uuidFromEventId, uuidTimeMs } from './event-id.ts';

/** A UUID of any version in the one spelling in which it is hashed. */
export const lowerUuidPattern = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/** An event as the single read shows it, flattened: what is committed to, and what is derived. */
export interface ShownEvent extends CommittedEvent {
  /** The `evt_audit_…` form of `uuid`. */
  id: string;
  /** As shown; `derivedFieldProblem` compares it with the id. */
  timestamp: string;
  sequence: number;
  /** As shown, in milliseconds; the log's entry has microseconds. */
  receivedAt: string;
  hasState: boolean;
}

/**
 * Takes apart the JSON value of `GET /api/audit-logs/{id}`, read with `parseStrictJson`. Throws
 * FormatError unless it has exactly the members of an event, each of its type: a member more would
 * be shown to people and proven by nothing. Ids must be lower case, for they are hashed as text.
 */
export function committedEventOf(json: unknown): ShownEvent {
  const event = objectOf(json, 16, 'the event');
  const actor = objectOf(event.actor, 5, 'actor');
  const resource = objectOf(event.resource, 3, 'resource');
  const recordedBy = objectOf(event.recordedBy, 2, 'recordedBy');
  const id = textOf(event.id, 'id');
  return {
    id,
    uuid: shownUuidOf(id) ?? refuse('id'),
    timestamp: textOf(event.timestamp, 'timestamp'),
    tenantId: lowerUuidOf(event.tenantId, 'tenantId'),
    actorId: lowerUuidOf(actor.id, 'actor.id'),
    actorEmail: textOrNull(actor.email, 'actor.email'),
    actorRole: textOf(actor.role, 'actor.role'),
    actorIp: textOrNull(actor.ip, 'actor.ip'),
    actorUserAgent: textOrNull(actor.userAgent, 'actor.userAgent'),
    action: textOf(event.action, 'action'),
    resourceType: textOf(resource.type, 'resource.type'),
    resourceId: lowerUuidOf(resource.id, 'resource.id'),
    resourceName: textOrNull(resource.name, 'resource.name'),
    diff: isObject(event.diff) ? canonicalText(event.diff, 'diff') : refuse('diff'),
    crossTenant: booleanOf(event.crossTenant, 'crossTenant'),
    reason: textOrNull(event.reason, 'reason'),
    category: textOf(event.category, 'category'),
    recordedByKind: textOf(recordedBy.kind, 'recordedBy.kind'),
    recordedById: lowerUuidOf(recordedBy.id, 'recordedBy.id'),
    before: stateText(event.before, 'before'),
    after: stateText(event.after, 'after'),
    sequence: isSequence(event.sequence) ? event.sequence : refuse('sequence'),
    receivedAt: textOf(event.receivedAt, 'receivedAt'),
    hasState: booleanOf(event.hasState, 'hasState'),
  };
}

// The end of the year 9999: beyond it there is no timestamp text.
const eventTimeMaxMs = 253_402_300_799_999;

/** The UUID of an event that can be shown, or null. */
export function shownUuidOf(id: string): string | null {
  const uuid = uuidFromEventId(id);
  return uuid !== null && uuidTimeMs(uuid) <= eventTimeMaxMs ? uuid : null;
}

function refuse(where: string): never {
  throw new FormatError(`${where} is not what an event has there`);
}

// As many members as are read from it, each of which must have its type: none missing, none too
// many.
function objectOf(value: unknown, members: number, where: string): Record<string, unknown> {
  return isObject(value) && Object.keys(value).length === members ? value : refuse(where);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function textOf(value: unknown, where: string): string {
  return typeof value === 'string' ? value : refuse(where);
}

function textOrNull(value: unknown, where: string): string | null {
  return value === null ? null : textOf(value, where);
}

function booleanOf(value: unknown, where: string): boolean {
  return typeof value === 'boolean' ? value : refuse(where);
}

const lowerUuid = new RegExp(`^${lowerUuidPattern}$`);

function lowerUuidOf(value: unknown, where: string): string {
  return typeof value === 'string' && lowerUuid.test(value) ? value : refuse(where);
}

function stateText(value: unknown, where: string): string | null {
  if (value === null) return null;
  return isObject(value) ? canonicalText(value, where) : refuse(where);
}

function canonicalText(value: object, where: string): string {
  try {
    return canonicalize(value as JsonValue);
  } catch {
    return refuse(where);
  }
}
