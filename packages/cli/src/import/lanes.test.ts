import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LaneLimits, Lanes, type Queued } from './lanes.ts';

interface Numbered extends Queued {
  number: number;
}

const limits: LaneLimits = {
  lanes: 3,
  batchEventsMax: 4,
  batchBytesMax: 100,
  queuedEventsMax: 20,
  queuedTextMax: 1_000,
};

/** A service that answers when it is told to, in whatever order. */
function service() {
  const open: { batch: Numbered[]; answer: () => void }[] = [];
  const received: Numbered[][] = [];
  const send = async (batch: Numbered[]) => {
    received.push(batch);
    const { promise, resolve } = Promise.withResolvers<void>();
    open.push({ batch, answer: resolve });
    await promise;
  };
  const answer = (which: number) => open.splice(which % Math.max(1, open.length), 1)[0]?.answer();
  return { open, received, send, answer };
}

test('events of a tenant arrive in their order, whatever is answered first', async () => {
  const tenants = fc.array(fc.nat(5), { minLength: 1, maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(tenants, fc.infiniteStream(fc.nat(2)), async (list, choices) => {
      const { open, received, send, answer } = service();
      const lanes = new Lanes<Numbered>(limits, send);
      for (const [number, tenant] of list.entries()) {
        lanes.add({ tenantId: `${tenant}`, text: '{}', number });
        while (lanes.full) {
          await turn();
          answer(choices.next().value ?? 0);
        }
        expect(open.length).toBeLessThanOrEqual(limits.lanes);
      }
      const drained = lanes.drained().then(() => true);
      while (!(await Promise.race([drained, turn(false)]))) answer(choices.next().value ?? 0);
      for (const tenant of new Set(list)) {
        const numbers = received.flat().filter(({ tenantId }) => tenantId === `${tenant}`);
        const expected = [...list.entries()].filter(([, each]) => each === tenant);
        expect(numbers.map(({ number }) => number)).toEqual(expected.map(([number]) => number));
      }
    }),
  );
});

test('a batch holds no more events and bytes than allowed, but always one event', async () => {
  const received: string[][] = [];
  const lanes = new Lanes<Queued>(limits, async (batch) => {
    received.push(batch.map(({ text }) => text));
  });
  const texts = ['a', 'b', 'c', 'd', 'e', 'é'.repeat(40), 'é'.repeat(40), 'x'.repeat(500), 'f'];
  for (const text of texts) lanes.add({ tenantId: 't', text });
  await lanes.drained();
  expect(received.map((batch) => batch.map((text) => text.charAt(0)).join(''))).toEqual([
    'abcd',
    'eé',
    'é',
    'x',
    'f',
  ]);
});

test('different tenants travel side by side', async () => {
  const { open, send } = service();
  const lanes = new Lanes<Numbered>(limits, send);
  for (let number = 0; number < 9; number++) {
    lanes.add({ tenantId: `${number}`, text: '{}', number });
  }
  await turn();
  expect(open.map(({ batch }) => batch.length)).toEqual([3, 3, 3]);
});

test('reading pauses while too much waits, and goes on when something is settled', async () => {
  const { send, answer } = service();
  const lanes = new Lanes<Numbered>({ ...limits, queuedEventsMax: 2 }, send);
  lanes.add({ tenantId: 't', text: '{}', number: 1 });
  expect(lanes.full).toBe(false);
  lanes.add({ tenantId: 't', text: '{}', number: 2 });
  expect(lanes.full).toBe(true);
  const room = lanes.room();
  await turn();
  answer(0);
  await room;
  expect(lanes.full).toBe(false);
});

test('after a failure nothing more is sent, and waiting callers are told', async () => {
  const batches: Queued[][] = [];
  const lanes = new Lanes<Queued>(limits, async (batch) => {
    batches.push(batch);
    throw new Error('the service is gone');
  });
  for (let number = 0; number < 12; number++) lanes.add({ tenantId: 't', text: '{}' });
  await expect(lanes.drained()).rejects.toThrow('the service is gone');
  await expect(lanes.room()).rejects.toThrow('the service is gone');
  await lanes.dropWaiting();
  expect(batches).toHaveLength(1);
});

test('waiting events can be dropped, while a running call is still settled', async () => {
  const { open, received, send, answer } = service();
  const lanes = new Lanes<Numbered>(limits, send);
  for (let number = 0; number < 12; number++) lanes.add({ tenantId: 't', text: '{}', number });
  await turn();
  const dropped = lanes.dropWaiting().then(() => true);
  expect(await Promise.race([dropped, turn(false)])).toBe(false);
  answer(0);
  await dropped;
  expect([received.length, open.length]).toEqual([1, 0]);
});
