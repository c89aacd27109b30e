import {
  createMasker,
  type Diff,
  defaultMaskedKeys,
  diffStates,
  type JsonObject,
  type JsonValue,
  parseTimestamp,
} from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import { newEventId } from './event-id.ts';
import { plainJson } from './plain-json.ts';

/** An event as it leaves this process: with an id, and without secrets. */
export type OutgoingEvent = EventInput & { id: string };

export interface OutgoingOptions {
  /** Of events that name no tenant themselves. */
  tenantId?: string | undefined;
  /** Further key names whose values are masked; the service's own names always are. */
  maskedKeys?: readonly string[] | undefined;
}

/** Names that events, actors and resources have: no secrets there, whatever names are masked. */
const fields = new Set([
  ...['id', 'timestamp', 'tenantId', 'action', 'crossTenant', 'reason', 'actor', 'resource'],
  ...['diff', 'before', 'after', 'email', 'role', 'ip', 'userAgent', 'type', 'name'],
]);

/**
 * Makes events ready to leave: each gets an id, so that sending it twice records it once, and the
 * values of secret keys become `"[masked]"`: in `diff`, `before` and `after`, and in whatever else
 * it holds that no event has, which the service refuses. What it returns shares no object with the
 * event that was given, which may change afterwards. Throws TypeError for what is no object and for
 * values that JSON does not have; everything else is left to the service to judge.
 */
export function createOutgoing({ tenantId, maskedKeys = [] }: OutgoingOptions = {}) {
  const masker = createMasker([...defaultMaskedKeys, ...maskedKeys]);
  const mask: Mask = (value) => masker.maskState(value).value;
  return (event: EventInput): OutgoingEvent => {
    // Once and whole: what is judged here is what leaves, whatever getters and `toJSON` say later.
    const given = plainJson(event);
    if (!isObject(given)) throw new TypeError('an audit event must be an object');
    const { actor, resource } = given;
    const sent = maskedMembers(given, mask);
    if (actor !== undefined) sent.actor = maskedMembers(actor, mask);
    if (resource !== undefined) sent.resource = maskedMembers(resource, mask);
    const diff = changesOf(given, sent);
    if (diff !== undefined) {
      sent.diff = isDiff(diff) ? (masker.maskDiff(diff).diff as JsonObject) : mask(diff);
    }
    sent.id ??= newEventId(timeOf(given));
    if (tenantId !== undefined) sent.tenantId ??= tenantId;
    return sent as unknown as OutgoingEvent;
  };
}

// A timestamp that nobody can read is refused by the service, whatever the id says.
function timeOf({ timestamp }: JsonObject): number {
  return parseTimestamp(String(timestamp)) ?? Date.now();
}

/** Masks as in a state. */
type Mask = (value: JsonValue) => JsonValue;

/** A copy with everything masked as in a state, but that the names of `fields` are no secrets. */
function maskedMembers(value: JsonValue, mask: Mask): JsonObject {
  const made = { ...(mask(value) as JsonObject) };
  for (const [name, own] of Object.entries(value ?? {})) {
    if (fields.has(name)) made[name] = mask(own);
  }
  return made;
}

/** Two masked secrets look equal to the service: that one of them changed can be told only here. */
function changesOf(given: JsonObject, sent: JsonObject): JsonValue | undefined {
  const hidesChange = given.before !== sent.before || given.after !== sent.after;
  if (given.diff !== undefined || !hidesChange) return given.diff;
  return diffStates(objectOrNull(given.before), objectOrNull(given.after)).diff as JsonObject;
}

/**
 * Whatever is none is masked as a state: the service refuses it, and must not learn secrets by it.
 */
const isDiff = (diff: JsonValue): diff is Diff =>
  isObject(diff) && Object.values(diff).every(isChange);

/** `{from, to}` of scalars: in anything else there may be further keys, with secrets under them. */
const isChange = (value: JsonValue): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, side]) =>
      (name === 'from' || name === 'to') && (side === null || typeof side !== 'object'),
  );

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const objectOrNull = (value: JsonValue | undefined) => (isObject(value) ? value : null);
