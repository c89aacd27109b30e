import { expect, test } from 'vitest';
import { type FairLimits, FairQueue } from './fair-queue.ts';
import { AppError } from './problem.ts';

const limits = { max: 3, waitingPerCaller: 2, waitMs: 20_000 };
const queueWith = (changes: Partial<FairLimits> = {}) =>
  new FairQueue({ ...limits, ...changes }, () => new AppError('rate_limited'));
const of = (caller: string, size = 1, share = 2) => ({ caller, size, share });
const isWaiting = async (call: Promise<unknown>) =>
  (await Promise.race([call.catch(() => 'refused'), 'waits'])) === 'waits';

test('free slots go to the callers in turn, however often one asks', async () => {
  const queue = queueWith({ max: 1, waitingPerCaller: 5 });
  const came: string[] = [];
  const ask = async (caller: string, name: string) => {
    const release = await queue.take(of(caller));
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
  const queue = queueWith();
  await queue.take(of('a'));
  await queue.take(of('a'));
  const further = new AbortController();
  const third = queue.take(of('a'), further.signal);
  expect(queue.hasTakenShare(of('a'))).toBe(true);
  const release = await queue.take(of('b'));
  release();
  release(); // given back once
  await queue.take(of('b'));
  expect(await isWaiting(third)).toBe(true);
  further.abort();
  await expect(third).rejects.toMatchObject({ code: 'rate_limited' });
});

test('too many waiting calls are refused, and so is one that waits too long', async () => {
  const queue = queueWith({ max: 1, waitMs: 20 });
  await queue.take(of('a'));
  const waiting = Promise.allSettled([queue.take(of('a')), queue.take(of('a'))]);
  await expect(queue.take(of('a'))).rejects.toMatchObject({ code: 'rate_limited' });
  expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test('a caller that hangs up while it waits leaves its place to the next one', async () => {
  const queue = queueWith({ max: 1 });
  const release = await queue.take(of('a'));
  const gone = new AbortController();
  const left = queue.take(of('a'), gone.signal);
  const stays = queue.take(of('a'));
  gone.abort();
  await expect(left).rejects.toMatchObject({ code: 'rate_limited' });
  release();
  await stays;
});

test('a call larger than its share, or than all, is let in alone', async () => {
  const queue = queueWith();
  const release = await queue.take(of('a', 10));
  expect(queue.tryTake(of('b'))).toBeNull();
  release();
  expect(queue.taken).toBe(0);
});

test('newer calls wait behind a large one that waits for room, until it comes or leaves', async () => {
  const queue = queueWith({ max: 4 });
  const first = await queue.take(of('a', 2));
  const gone = new AbortController();
  const large = queue.take(of('b', 3, 4), gone.signal);
  const small = queue.take(of('c'));
  expect(await isWaiting(small)).toBe(true);
  gone.abort();
  await expect(large).rejects.toMatchObject({ code: 'rate_limited' });
  (await small)();
  const again = queue.take(of('b', 3, 4));
  const last = queue.take(of('c', 2));
  first();
  const release = await again;
  expect(await isWaiting(last)).toBe(true);
  release();
  (await last)();
  expect(queue.taken).toBe(0);
});

test('a call takes its former slot again before calls that have not begun, however many', async () => {
  const queue = queueWith({ max: 1, waitMs: 20 });
  const release = await queue.take(of('a'));
  const waiting = Promise.allSettled([queue.take(of('a')), queue.take(of('a'))]);
  const gone = new AbortController();
  const again = { ...of('a'), again: true };
  const left = queue.take(again, gone.signal);
  const first = queue.take(again);
  expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  gone.abort();
  await expect(left).rejects.toMatchObject({ code: 'rate_limited' });
  const newer = queue.take(of('a'));
  const second = queue.take(again);
  release();
  (await first)();
  const releaseSecond = await second;
  expect(await isWaiting(newer)).toBe(true);
  releaseSecond();
  (await newer)();
  expect(queue.taken).toBe(0);
});

test('a caller that waits for its own share delays no other', async () => {
  const queue = queueWith();
  const first = await queue.take(of('a', 2));
  const [second, third] = [queue.take(of('a', 2)), queue.take(of('a', 0))];
  (await queue.take(of('b')))();
  expect(await isWaiting(third)).toBe(true); // calls of one caller keep their order
  first();
  (await second)();
  (await third)();
  expect(queue.taken).toBe(0);
});

test('a call leaves as much free as its caller has then, up to a limit', async () => {
  const queue = queueWith({ max: 64, leavesMax: 16 });
  const most = (caller: string) => {
    let size = 64;
    while (size > 0 && queue.tryTake(of(caller, size, 64)) === null) size--;
    return size;
  };
  const alone = await queue.take(of('alone', 64, 64));
  alone();
  await queue.take(of('first'));
  expect([most('a'), most('b'), most('c'), most('d')]).toEqual([47, 8, 4, 2]);
  expect(queue.tryTake(of('a'))).toBeNull();
});
