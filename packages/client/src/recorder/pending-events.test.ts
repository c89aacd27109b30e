import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PendingEvent, PendingEvents } from './pending-events.ts';

const eventOf = (tenantId: string, number: number, bytes = 100): PendingEvent => {
  return { tenantId, number, bytes, text: '' };
};
const numbersOf = (events: readonly PendingEvent[]) => events.map(({ number }) => number);

test('every event comes out once and in the order of its tenant, however events are taken and put back', () => {
  const step = fc.record({
    take: fc.nat(6),
    bytes: fc.integer({ min: 50, max: 700 }),
    fails: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(fc.nat(3), { maxLength: 40 }), fc.array(step), (tenants, steps) => {
      const pending = new PendingEvents();
      const gone: PendingEvent[] = [];
      for (const [number, tenant] of tenants.entries()) pending.add(eventOf(`${tenant}`, number));
      for (const { take, bytes, fails } of steps) {
        const taken = pending.take(take + 1, bytes);
        pending.settle(taken, fails ? taken : []);
        if (!fails) gone.push(...taken);
      }
      expect(pending.count).toBe(tenants.length - gone.length);
      expect(pending.bytes).toBe(pending.count * 100);
      gone.push(...pending.take(Infinity, Infinity));
      expect(numbersOf(gone).sort((a, b) => a - b)).toEqual(tenants.map((_, index) => index));
      for (const tenant of new Set(tenants)) {
        const own = numbersOf(gone.filter(({ tenantId }) => tenantId === `${tenant}`));
        expect(own).toEqual([...own].sort((a, b) => a - b));
      }
    }),
  );
});

/** The numbers of the next batch, which is gone then. */
function next(pending: PendingEvents, eventsMax: number, bytesMax = 10_000, held: string[] = []) {
  const taken = pending.take(eventsMax, bytesMax, held);
  pending.settle(taken);
  return numbersOf(taken);
}

test('a held tenant is left out, and one with many events does not starve the others', () => {
  const pending = new PendingEvents();
  for (let number = 1; number <= 10; number += 1) pending.add(eventOf('held', number));
  pending.add(eventOf('quiet', 11));
  expect(next(pending, 4, 10_000, ['held'])).toEqual([11]);
  pending.add(eventOf('quiet', 12));
  expect(next(pending, 4)).toEqual([1, 2, 3, 4]);
  expect(next(pending, 4)).toEqual([12, 5, 6, 7]);
  expect(pending.firstNumber()).toBe(8);
});

test('no event overtakes a taken one of its tenant, and what was taken back counts again', () => {
  const pending = new PendingEvents();
  for (const number of [1, 2, 3]) pending.add(eventOf('a', number));
  pending.add(eventOf('b', 4));
  const taken = pending.take(2, 10_000);
  expect(numbersOf(taken)).toEqual([1, 2]);
  expect(next(pending, 4)).toEqual([4]);
  expect([pending.waiting, pending.count, pending.bytes, pending.firstNumber()]).toEqual([
    1, 3, 300, 1,
  ]);
  pending.takeBack();
  expect(pending.settle(taken)).toBe(false);
  expect(next(pending, 4)).toEqual([1, 2, 3]);
  expect([pending.waiting, pending.count, pending.bytes, pending.firstNumber()]).toEqual([
    0,
    0,
    0,
    Infinity,
  ]);
});

test('an event larger than a batch goes alone, and a batch ends before the one that does not fit', () => {
  const pending = new PendingEvents();
  for (const [number, bytes] of [100, 900, 100].entries()) pending.add(eventOf('a', number, bytes));
  for (const number of [0, 1, 2]) expect(next(pending, 10, 500)).toEqual([number]);
  expect(next(pending, 10, 500)).toEqual([]);
});
