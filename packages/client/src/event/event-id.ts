import { newEventIdAt } from '@indelible/protocol';

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
