import { expect, test } from 'vitest';
import { bodyLine, plainEvent, record } from '../testing/recorded-log.ts';
import type { ErasureRecord } from '../verify/service-records.ts';
import { parseBodyLine } from './event-body.ts';
import { HiddenSegments } from './hidden-segments.ts';

const [recorded] = record([plainEvent(0)]);
if (recorded === undefined) throw new Error('nothing was recorded');
const { event, hashes, salts } = parseBodyLine(bodyLine(recorded));
const withoutIdentity = hashes.map((_, at) => (at === 3 ? new Uint8Array(32) : null));

/** An event of this person that lacks its identity. */
const hidden = (person: number, sequence: number) => ({
  event: { ...event, actorId: `person ${person}`, id: `event ${sequence}`, sequence },
  salts,
  hashes: withoutIdentity,
});

const erasure = (person: number, events: string[], size: number): ErasureRecord => ({
  sequence: 1_000_000 + person,
  segment: 'identity',
  size,
  actors: new Set([`person ${person}`]),
  events: new Set(events),
});

test('as many erasures as persons are compared without asking each for each', () => {
  const persons = 10_000;
  const all = new HiddenSegments();
  for (let sequence = 0; sequence < 2 * persons; sequence += 1)
    all.take(hidden(sequence % persons, sequence));
  const erasures = Array.from({ length: persons }, (_, n) => erasure(n, [`other ${n}`], persons));
  const start = process.cpuUsage();
  expect(all.unexplained('identity', erasures)).toBe(persons);
  expect(all.erased('identity', erasures)).toEqual({
    events: persons,
    records: erasures.map(({ sequence }) => sequence),
  });
  expect(process.cpuUsage(start).user / 1_000).toBeLessThan(5_000);
});

test('an erasure explains events below its size, of the persons or events that it names', () => {
  const all = new HiddenSegments();
  for (const [person, sequence] of [
    [1, 5],
    [1, 10],
    [2, 6],
    [3, 7],
  ] as const)
    all.take(hidden(person, sequence));
  const erasures = [erasure(1, [], 10), erasure(9, ['event 6', 'event 10'], 10)];
  expect(all.unexplained('identity', erasures)).toBe(2);
  expect(all.erased('identity', erasures)).toEqual({ events: 2, records: [1_000_001, 1_000_009] });
  expect(all.erased('state', erasures)).toEqual({ events: 0, records: [] });
});
