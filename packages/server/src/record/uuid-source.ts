import { importedEventUuid } from '@indelible/protocol';
import type { Random } from '../events/prepared-event.ts';

/** Makes the id of an event without one. */
export type UuidSource = (timeMs: number) => string;

const counterMax = 0xfff;
/** So many timestamps have a counter: events of the past arrive between those of now. */
const remembered = 10_000;

/**
 * UUIDv7s whose 12 bits after the millisecond count up (RFC 9562, section 6.2, method 1), so that
 * lists show events of one process and millisecond in order of arrival; 62 bits stay random.
 */
export function createUuidSource(random: Random): UuidSource {
  const counters = new Map<number, number>();
  return (timeMs) => {
    const counter = counters.get(timeMs) ?? 0;
    if (counters.size >= remembered) counters.clear();
    counters.set(timeMs, Math.min(counter + 1, counterMax));
    return importedEventUuid(timeMs, counter, random(8));
  };
}
