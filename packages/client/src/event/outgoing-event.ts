import {
  createMasker,
  type Diff,
  eventBytesMax,
  isObject,
  type JsonObject,
  type JsonValue,
  newEventIdAt,
  parseTimestamp,
} from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import { plainJson } from './plain-json.ts';

/** An event ready to be sent: with an id, without secrets. */
export type OutgoingEvent = EventInput & { id: string };

export interface OutgoingOptions {
  /** The tenant of events that name none. */
  tenantId?: string | undefined;
  /** Additional key names whose values are masked; the service's own always are. */
  maskedKeys?: readonly string[] | undefined;
}

/** Room for masked secrets: an event larger than this is too large, whatever they take. */
const charactersMax = 4 * eventBytesMax;

/** Members of events and of their objects: never masked, whatever names are configured. */
const fields = new Set([
  ...['id', 'timestamp', 'tenantId', 'action', 'crossTenant', 'reason', 'actor', 'resource'],
  ...['diff', 'before', 'after', 'email', 'role', 'ip', 'userAgent', 'type', 'name'],
  ...['externalId', 'outcome', 'correlationId', 'traceId', 'onBehalfOf', 'via', 'targets'],
  ...['metadata', 'source', 'asSent'],
]);
const innerFields = new Set([...fields, 'channel', 'clientId', 'tool', 'sessionId', 'sequence']);
/** Objects, and lists of objects, whose members are fields too. Those of `metadata` are not. */
const objects = new Set(['actor', 'resource', 'onBehalfOf', 'via', 'targets', 'source']);
/** The members of `via`, whose texts may be tokens. */
const maskedTexts = new Set(['channel', 'clientId', 'tool', 'sessionId']);

/**
 * Prepares events for sending: each gets an id, so that retries record it once. Values of secret
 * keys become `"[masked]"` in `diff`, `before` and `after`, and in unknown members (which the
 * service refuses). The result shares no object with the given event. Throws TypeError if the value
 * is not an object or cannot be JSON; the service checks the rest. Throws TooLongError for an event
 * that is far too large, before it searches secrets, which takes much longer.
 */
export function createOutgoing({ tenantId, maskedKeys = [] }: OutgoingOptions = {}) {
  const masker = createMasker(maskedKeys);
  const mask: Mask = (value) => masker.maskState(value).value;
  return (event: EventInput): OutgoingEvent => {
    // Converted once, so that getters and `toJSON` cannot return something else later.
    const given = plainJson(event, charactersMax);
    if (!isObject(given)) throw new TypeError('an audit event must be an object');
    const sent = maskedMembers(given, mask, fields);
    const { diff, before, after } = given;
    const owner = objectOrNull(given.resource) ?? {};
    if (before !== undefined) sent.before = masker.maskState(before, owner).value;
    if (after !== undefined) sent.after = masker.maskState(after, owner).value;
    if (diff !== undefined) {
      sent.diff = isDiff(diff) ? (masker.maskDiff(diff, owner).diff as JsonObject) : mask(diff);
    } else if (before !== sent.before || after !== sent.after) {
      // To the service two masked secrets are equal; only here can a change be detected.
      const states = [objectOrNull(before), objectOrNull(after)] as const;
      sent.diff = masker.diffStates(...states, owner).diff as JsonObject;
    }
    sent.id ??= newEventId(timeOf(given));
    if (tenantId !== undefined) sent.tenantId ??= tenantId;
    return sent as unknown as OutgoingEvent;
  };
}

// The service refuses an unreadable timestamp, whatever the id.
function timeOf({ timestamp }: JsonObject): number {
  return parseTimestamp(String(timestamp)) ?? Date.now();
}

/** Masks a value as in a state. */
type Mask = (value: JsonValue) => JsonValue;

/** A copy masked as in a state, except for these members; their texts stay, as in the service. */
function maskedMembers(value: JsonObject, mask: Mask, names: ReadonlySet<string>): JsonObject {
  const made = { ...(mask(value) as JsonObject) };
  for (const [name, own] of Object.entries(value)) {
    if (!names.has(name)) continue;
    if (objects.has(name)) made[name] = maskedInner(own, mask);
    else made[name] = typeof own === 'string' && !maskedTexts.has(name) ? own : mask(own);
  }
  return made;
}

function maskedInner(value: JsonValue, mask: Mask): JsonValue {
  if (Array.isArray(value)) return value.map((each) => maskedInner(each, mask));
  return isObject(value) ? maskedMembers(value, mask, innerFields) : mask(value);
}

/** Any other value is masked like a state: the service refuses it, and must not get its secrets. */
const isDiff = (diff: JsonValue): diff is Diff =>
  isObject(diff) && Object.values(diff).every(isChange);

/** `{from, to}` of scalars only: other values may contain further keys with secrets. */
const isChange = (value: JsonValue): boolean =>
  isObject(value) &&
  Object.entries(value).every(
    ([name, side]) =>
      (name === 'from' || name === 'to') && (side === null || typeof side !== 'object'),
  );

const objectOrNull = (value: JsonValue | undefined) => (isObject(value) ? value : null);

const randomBytes = 10;
// Drawing random bytes takes ten times as long as the rest, however few they are: 256 ids share one
// draw.
const pool = new Uint8Array(randomBytes * 256);
let poolAt = pool.length;

let lastMs = Number.NaN;
let counter = 0;

/**
 * A new event's id, `evt_audit_…`. `timeMs` is the event's `timestamp` in milliseconds since 1970,
 * default now. Store the id with the event if you may send it again: one id is recorded once. Ids
 * made in one millisecond ascend (RFC 9562, section 6.2, method 1), so lists show events in the
 * order in which they were made. Throws RangeError for a time that an id cannot hold.
 */
export function newEventId(timeMs: number = Date.now()): string {
  if (poolAt === pool.length) {
    crypto.getRandomValues(pool);
    poolAt = 0;
  }
  const random = pool.subarray(poolAt, poolAt + randomBytes);
  poolAt += randomBytes;
  // The 12 bits after the time are a counter that starts in the lower half: room for 2,048 more.
  const start = (((random[0] ?? 0) & 7) << 8) | (random[1] ?? 0);
  counter = timeMs === lastMs ? counter + 1 : start;
  lastMs = timeMs;
  random[0] = (counter >> 8) & 15;
  random[1] = counter & 255;
  return newEventIdAt(timeMs, random);
}
