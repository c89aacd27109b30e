import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PendingEvent, PendingEvents } from './pending-events.ts';

const nobody = new Set<string>();
const eventOf = (tenantId: string, number: number, bytes = 100): PendingEvent => {
  return { tenantId, number, bytes, text: '' };
};
const numbersOf = (events: readonly PendingEvent[]) => events.map(({ number }) => number);

test('whatever is taken and put back, every event comes out once and in the order of its tenant', () => {
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
        const taken = pending.take(take + 1, bytes, nobody);
        if (fails) pending.putBack(taken);
        else gone.push(...taken);
      }
      expect(pending.count).toBe(tenants.length - gone.length);
      expect(pending.bytes).toBe(pending.count * 100);
      gone.push(...pending.take(Infinity, Infinity, nobody));
      expect(numbersOf(gone).sort((a, b) => a - b)).toEqual(tenants.map((_, index) => index));
      for (const tenant of new Set(tenants)) {
        const own = numbersOf(gone.filter(({ tenantId }) => tenantId === `${tenant}`));
        expect(own).toEqual([...own].sort((a, b) => a - b));
      }
    }),
  );
});

test('a busy tenant is left out, and one with many events does not starve the others', () => {
  const pending = new PendingEvents();
  for (let number = 1; number <= 10; number += 1) pending.add(eventOf('busy', number));
  pending.add(eventOf('quiet', 11));
  expect(numbersOf(pending.take(4, 10_000, new Set(['busy'])))).toEqual([11]);
  pending.add(eventOf('quiet', 12));
  expect(numbersOf(pending.take(4, 10_000, nobody))).toEqual([1, 2, 3, 4]);
  expect(numbersOf(pending.take(4, 10_000, nobody))).toEqual([12, 5, 6, 7]);
  expect(pending.firstNumber()).toBe(8);
});

test('an event larger than a batch goes alone, and a batch ends before the one that does not fit', () => {
  const pending = new PendingEvents();
  for (const [number, bytes] of [100, 900, 100].entries()) pending.add(eventOf('a', number, bytes));
  expect(numbersOf(pending.take(10, 500, nobody))).toEqual([0]);
  expect(numbersOf(pending.take(10, 500, nobody))).toEqual([1]);
  expect(numbersOf(pending.take(10, 500, nobody))).toEqual([2]);
  expect(pending.take(10, 500, nobody)).toEqual([]);
});
