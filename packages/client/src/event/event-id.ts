import { eventIdFromUuid, eventUuid } from '@indelible/protocol';

const randomBytes = 10;
// Drawing random bytes costs ten times what the rest of an
// id does, however few they are: 256 ids share one draw.
const pool = new Uint8Array(randomBytes * 256);
let poolAt = pool.length;

let lastMs = Number.NaN;
let counter = 0;

/**
 * A new event's id, `evt_audit_…`. `timeMs` is the event's `timestamp` in milliseconds since 1970,
 * now unless given. Keep it with the event when you may send the event again: whatever is sent
 * under one id is recorded once. Ids made one after the other for one millisecond ascend (RFC 9562,
 * section 6.2, method 1), so that lists by time show events in the order in which they were made.
 * Throws RangeError for a moment that no id can hold.
 */
export function newEventId(timeMs: number = Date.now()): string {
  if (poolAt === pool.length) {
    crypto.getRandomValues(pool);
    poolAt = 0;
  }
  const random = pool.subarray(poolAt, poolAt + randomBytes);
  poolAt += randomBytes;
  // The 12 bits behind the time count. They begin anywhere in the lower half: 2,048 more have room.
  const start = (((random[0] ?? 0) & 7) << 8) | (random[1] ?? 0);
  counter = timeMs === lastMs ? counter + 1 : start;
  lastMs = timeMs;
  random[0] = (counter >> 8) & 15;
  random[1] = counter & 255;
  return eventIdFromUuid(eventUuid(timeMs, random));
}
