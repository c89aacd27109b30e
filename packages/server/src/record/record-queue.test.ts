import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PreparedEvent } from '../events/prepared-event.ts';
import { type QueuedEvent, RecordQueue } from './record-queue.ts';

const kib = 1_024;
const mib = 1_024 * kib;

/** The queue looks at tenant and size alone; `uuid` tells the events of a test apart. */
function item(tenantId: string, uuid = '', bytes = kib): QueuedEvent {
  const event = { tenantId, uuid, bytes } as PreparedEvent;
  return { event, keyId: null, settle: () => {} };
}

const namesOf = (items: readonly QueuedEvent[]) => items.map(({ event }) => event.uuid);
const tenantsOf = (items: readonly QueuedEvent[]) => [
  ...new Set(items.map(({ event }) => event.tenantId)),
];

function queueWith(...items: QueuedEvent[]): RecordQueue {
  const queue = new RecordQueue();
  for (const each of items) queue.add(each);
  return queue;
}

/** Takes a tenant's events as often as it takes until its head counts as stuck. */
function makeStuck(queue: RecordQueue, nowMs = 0): void {
  for (let skips = 0; skips < 3; skips++) {
    const taken = queue.takeReady();
    queue.release(taken, taken, nowMs);
  }
}

test('a flush takes what has gathered, in the order in which it came', () => {
  const queue = queueWith(item('a', '1'), item('b', '2'), item('a', '3'));
  expect(namesOf(queue.takeReady())).toEqual(['1', '3', '2']);
  expect(queue.takeReady()).toEqual([]);
});

test('a flush takes 500 events and no more once 4 MiB are together', () => {
  const many = queueWith(...Array.from({ length: 1_200 }, () => item('a')));
  const first = many.takeReady();
  expect(first.length).toBe(500);
  many.release(first, [], 0);
  expect(many.takeReady().length).toBe(500);
  const large = queueWith(...Array.from({ length: 20 }, (_, n) => item(`t${n % 3}`, '', mib)));
  expect(large.takeReady().length).toBe(4);
  expect(queueWith(item('a', '', 9 * mib), item('a')).takeReady().length).toBe(1);
});

test('a tenant in one flush is out of reach of the next, until it is released', () => {
  const queue = queueWith(item('a', '1'), item('b', '2'));
  const first = queue.takeReady();
  queue.add(item('a', '3'));
  queue.add(item('c', '4'));
  expect(namesOf(queue.takeReady())).toEqual(['4']);
  queue.release(first, [], 0);
  expect(namesOf(queue.takeReady())).toEqual(['3']);
});

test('a tenant with 20,000 events does not keep another one from the next flush', () => {
  const queue = queueWith(...Array.from({ length: 20_000 }, () => item('busy')), item('quiet'));
  const first = queue.takeReady();
  expect(tenantsOf(first)).toEqual(['busy']);
  queue.release(first, [], 0);
  const second = queue.takeReady();
  expect(second.length).toBe(500);
  expect(tenantsOf(second)).toEqual(['quiet', 'busy']);
  queue.add(item('third'));
  expect(tenantsOf(queue.takeReady())).toEqual(['third']);
});

test('events that were skipped go back to the head of their line', () => {
  const queue = queueWith(item('a', '1'), item('a', '2'));
  const first = queue.takeReady();
  queue.add(item('a', '3'));
  queue.release(first, first, 0);
  expect(namesOf(queue.takeStuck())).toEqual(['1', '2', '3']);
});

test('a head found locked three times is waited for alone, and is ready again once it was free', () => {
  const queue = queueWith(item('a', '1'), item('b', '2'));
  expect(queue.takeStuck()).toEqual([]);
  makeStuck(queue);
  queue.add(item('c', '3'));
  expect(tenantsOf(queue.takeReady())).toEqual(['c']);
  const waitedFor = queue.takeStuck();
  expect(tenantsOf(waitedFor)).toEqual(['a']);
  expect(tenantsOf(queue.takeStuck())).toEqual(['b']);
  expect(queue.takeStuck()).toEqual([]);
  queue.release(waitedFor, [], 0);
  queue.add(item('a', '4'));
  expect(queue.takeStuck()).toEqual([]);
  expect(namesOf(queue.takeReady())).toEqual(['4']);
});

test('an event that waits too long for a place in the queue is given up; queued ones are not', () => {
  const queue = queueWith(item('a', '1'), item('b', '2'), item('b', '3'));
  makeStuck(queue, 100);
  expect(tenantsOf(queue.takeStuck())).toEqual(['a']);
  expect(queue.takeOverdue(100)).toEqual([]);
  expect(namesOf(queue.takeOverdue(101))).toEqual(['2', '3']);
  expect(queue.takeOverdue(101)).toEqual([]);
  queue.add(item('b', '4'));
  expect(namesOf(queue.takeReady())).toEqual(['4']);
});

test('a flush finds the head of its only tenant locked: the next one waits for it', () => {
  const queue = queueWith(item('a', '1'));
  const taken = queue.takeReady();
  queue.release(taken, taken, 0);
  expect(queue.takeReady()).toEqual([]);
  expect(namesOf(queue.takeStuck())).toEqual(['1']);
});

test('events that have come by the time a flush has the heads join it, as far as it has room', () => {
  const queue = queueWith(item('a', '1'), item('b', '2'));
  const taken = queue.takeReady();
  for (const name of ['3', '4']) queue.add(item('a', name));
  queue.add(item('b', '5'));
  queue.add(item('c', '6'));
  expect(queue.takeBehind(taken.slice(0, 0), [{ tenantId: 'a' }])).toEqual([]);
  expect(namesOf(queue.takeBehind(taken, [{ tenantId: 'a' }]))).toEqual(['3', '4']);
  expect(queue.takeBehind(taken, [{ tenantId: 'a' }])).toEqual([]);
  expect(namesOf(queue.takeReady())).toEqual(['6']);
  const full = Array.from({ length: 500 }, () => item('d'));
  expect(queue.takeBehind([...full, ...taken], [{ tenantId: 'b' }])).toEqual([]);
});

test('a head that was skipped once is not given up', () => {
  const queue = queueWith(item('a'), item('b'));
  const taken = queue.takeReady();
  queue.release(taken, taken, 0);
  expect(queue.takeOverdue(1_000_000)).toEqual([]);
});

type Step =
  | { add: string }
  | { take: 'ready' | 'stuck' | 'behind' }
  | { release: 'written' | 'skipped' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.constantFrom('a', 'b', 'c') }) },
    { weight: 2, arbitrary: fc.record({ take: fc.constantFrom('ready', 'stuck', 'behind') }) },
    { weight: 2, arbitrary: fc.record({ release: fc.constantFrom('written', 'skipped') }) },
  ),
  { maxLength: 60 },
);

test('every event is written once, in order within its tenant, whatever is skipped and released', () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const queue = new RecordQueue();
      const written: QueuedEvent[] = [];
      const added: QueuedEvent[] = [];
      const flights: QueuedEvent[][] = [];
      const release = (skip: boolean) => {
        const flight = flights.shift() ?? [];
        queue.release(flight, skip ? flight : [], 0);
        if (!skip) written.push(...flight);
      };
      const take = (stuck: boolean) => {
        const taken = stuck ? queue.takeStuck() : queue.takeReady();
        const inFlight = new Set(tenantsOf(flights.flat()));
        expect(tenantsOf(taken).filter((tenant) => inFlight.has(tenant))).toEqual([]);
        if (taken.length > 0) flights.push(taken);
        return taken.length;
      };
      const join = () => {
        const flight = flights.at(-1) ?? [];
        const heads = tenantsOf(flight).map((tenantId) => ({ tenantId }));
        flight.push(...queue.takeBehind(flight, heads));
      };
      for (const step of sequence) {
        if ('add' in step) {
          const each = item(step.add, String(added.length));
          added.push(each);
          queue.add(each);
        } else if ('release' in step) release(step.release === 'skipped');
        else if (step.take === 'behind') join();
        else take(step.take === 'stuck');
      }
      while (flights.length > 0 || take(false) + take(true) > 0) release(false);
      for (const tenant of ['a', 'b', 'c']) {
        const own = ({ event }: QueuedEvent) => event.tenantId === tenant;
        expect(namesOf(written.filter(own))).toEqual(namesOf(added.filter(own)));
      }
    }),
  );
});
