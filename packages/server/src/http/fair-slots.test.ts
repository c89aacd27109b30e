import { expect, test } from 'vitest';
import { FairSlots, type SlotLimits } from './fair-slots.ts';
import { AppError } from './problem.ts';

const refusal = () => new AppError('rate_limited');
const limits = { slotsMax: 3, slotsPerTenant: 2, waitingPerTenant: 2, waitMs: 20_000 };
const slotsWith = (changes: Partial<SlotLimits> = {}) =>
  new FairSlots({ ...limits, ...changes }, refusal);
const here = () => new AbortController().signal;

test('free slots go to the tenants in turn, whichever asks how often', async () => {
  const slots = slotsWith({ slotsMax: 1, waitingPerTenant: 5 });
  const came: string[] = [];
  const ask = async (tenant: string, name: string) => {
    const release = await slots.take(tenant, here());
    came.push(name);
    setImmediate(release);
  };
  await Promise.all([
    ask('a', 'a1'),
    ask('a', 'a2'),
    ask('a', 'a3'),
    ask('b', 'b1'),
    ask('b', 'b2'),
  ]);
  expect(came).toEqual(['a1', 'a2', 'b1', 'a3', 'b2']);
});

test('a tenant never has all slots, however many calls it makes', async () => {
  const slots = slotsWith();
  await slots.take('a', here());
  await slots.take('a', here());
  const further = new AbortController();
  const third = slots.take('a', further.signal).catch(() => 'gone');
  const release = await slots.take('b', here());
  release();
  release(); // a slot is given back once
  await slots.take('b', here());
  expect(await Promise.race([third, 'waits'])).toBe('waits');
  further.abort();
  expect(await third).toBe('gone');
});

test('too many waiting calls are refused, and so is one that waits too long', async () => {
  const slots = slotsWith({ slotsMax: 1, waitMs: 20 });
  await slots.take('a', here());
  const waiting = Promise.allSettled([slots.take('a', here()), slots.take('a', here())]);
  await expect(slots.take('a', here())).rejects.toMatchObject({ code: 'rate_limited' });
  expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('a caller that hangs up while it waits leaves the slot to the next one', async () => {
  const slots = slotsWith({ slotsMax: 1 });
  const release = await slots.take('a', here());
  const gone = new AbortController();
  const left = slots.take('a', gone.signal);
  const stays = slots.take('a', here());
  gone.abort();
  await expect(left).rejects.toMatchObject({ code: 'rate_limited' });
  release();
  await stays;
});
