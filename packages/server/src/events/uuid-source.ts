import { importedEventUuid } from '@indelible/protocol';
import type { Random } from './prepared-event.ts';

/** Makes the id of an event without one. */
export type UuidSource = (timeMs: number) => string;

const counterMax = 0xfff;

/**
 * UUIDv7s whose 12 bits after the millisecond count up (RFC 9562, section 6.2, method 1), so that
 * lists show events of one process and millisecond in order of arrival; 62 bits stay random.
 */
export function createUuidSource(random: Random): UuidSource {
  let lastMs = -1;
  let counter = 0;
  return (timeMs) => {
    counter = timeMs === lastMs ? Math.min(counter + 1, counterMax) : 0;
    lastMs = timeMs;
    return importedEventUuid(timeMs, counter, random(8));
  };
}
