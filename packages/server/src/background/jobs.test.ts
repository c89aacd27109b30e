import { randomUUID } from 'node:crypto';
import { testService } from '@indelible/testing/service';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { openDatabase, write } from '../postgres/db.ts';
import { claimJob, type OpenQueue, renewLease } from './jobs.store.ts';
import { createJobs, type Jobs, type NewJob, type QueueName, TryAgain } from './jobs.ts';

const service = await testService();
/** Another process, in effect. */
const db = openDatabase(service.servingUrl, { poolSize: 4, onIdleError: () => {} });
beforeEach(() => service.owner.query('DELETE FROM jobs'));
afterAll(() => db.close());

const now = () => service.clock.now;
const ended = vi.fn();
const newJobs = () => createJobs(db, now, ended);

function send(jobs: Jobs, queue: QueueName, job: Partial<NewJob> = {}): Promise<void> {
  const whole = { data: {}, tenantId: randomUUID(), ...job };
  return write(service.db, (tx) => jobs.send(tx, queue, whole));
}

const exportsOnly: OpenQueue[] = [{ name: 'export', perTenant: 2, records: true }];
const claim = (untilMs = now() + 30_000, queues = exportsOnly) =>
  write(service.db, (tx) => claimJob(tx, queues, randomUUID(), now(), untilMs));

async function stored() {
  const { rows } = await service.owner.query(
    'SELECT attempts, lease IS NOT NULL AS leased, due_at AS due FROM jobs',
  );
  return rows.map(({ attempts, leased, due }) => ({ attempts, leased, inMs: due - now() }));
}

test('two jobs of a tenant run at once, not three, also when three processes claim at the same moment', async () => {
  const jobs = newJobs();
  const tenantId = randomUUID();
  for (let n = 0; n < 3; n++) await send(jobs, 'export', { tenantId });
  const claimed = await Promise.all([claim(), claim(), claim()]);
  expect(claimed.filter((each) => each !== null)).toHaveLength(2);
  expect(await claim()).toBeNull();
  // One of the two processes has died: its lease ends, and there is room again.
  service.clock.now += 30_001;
  expect(await claim()).not.toBeNull();
});

test('many jobs of one tenant do not keep the only one of another waiting', async () => {
  const jobs = newJobs();
  const [many, one] = [randomUUID(), randomUUID()];
  for (let n = 0; n < 4; n++) await send(jobs, 'export', { tenantId: many, priority: -n });
  service.clock.now += 1; // it has been due for less time than all of theirs
  await send(jobs, 'export', { tenantId: one });
  const order = [await claim(), await claim(), await claim()].map((each) => each?.tenantId);
  expect(order).toEqual([many, one, many]);
});

test('while recording is stopped jobs wait that write into the log, and no others', async () => {
  const jobs = newJobs();
  await send(jobs, 'export');
  await send(jobs, 'export-mail');
  await service.owner.query("UPDATE log_rounds SET halted = 'a test'");
  const open = [...exportsOnly, { name: 'export-mail', perTenant: 1, records: false }];
  expect((await claim(undefined, open))?.queue).toBe('export-mail');
  expect(await claim(undefined, open)).toBeNull();
  await service.owner.query('UPDATE log_rounds SET halted = NULL');
  expect((await claim(undefined, open))?.queue).toBe('export');
});

test('a lease that another process has taken over cannot be renewed by the first', async () => {
  await send(newJobs(), 'export');
  const first = await claim();
  service.clock.now += 30_001;
  const second = await claim();
  expect([first?.attempts, second?.attempts]).toEqual([1, 2]);
  const renew = (job: typeof first) => job && renewLease(service.db.background, job, now() + 1_000);
  expect([await renew(first), await renew(second)]).toEqual([false, true]);
});

test('a job that is queued in a transaction that rolls back never runs', async () => {
  const jobs = newJobs();
  const handled = vi.fn(async () => {});
  jobs.handle('tenant-mail', handled);
  const sent = write(service.db, async (tx) => {
    await jobs.send(tx, 'tenant-mail', { data: {}, tenantId: randomUUID() });
    throw new Error('no');
  });
  await expect(sent).rejects.toThrow('no');
  await jobs.tick('tenant-mail');
  expect(handled).not.toHaveBeenCalled();
});

test('a failed attempt is repeated after its pause, the last one gives up, and that until it succeeds', async () => {
  const jobs = newJobs();
  const seen: [string, boolean][] = [];
  let refuses = 2;
  jobs.handle<object>(
    'restore',
    async ({ isLast }) => {
      seen.push(['attempt', isLast]);
      throw seen.length === 1 ? new TryAgain() : new Error('failed');
    },
    async () => {
      if (refuses-- > 0) throw new Error('cannot give up');
      seen.push(['given up', true]);
    },
  );
  ended.mockClear();
  await send(jobs, 'restore');
  for (const pauseMs of [1_000, 4_000, 15_000]) {
    await jobs.tick('restore');
    expect(await stored()).toMatchObject([{ leased: false, inMs: pauseMs }]);
    service.clock.now += pauseMs;
  }
  // The last attempt, and the first time that it cannot be given up.
  await jobs.tick('restore');
  expect(await stored()).toMatchObject([{ attempts: 5, inMs: 60_000 }]);
  for (let n = 0; n < 2; n++) {
    service.clock.now += 60_000;
    await jobs.tick('restore');
  }
  const attempts = [false, false, false, true].map((isLast) => ['attempt', isLast]);
  expect(seen).toEqual([...attempts, ['given up', true]]);
  expect(await stored()).toEqual([]);
  // The one that asked to be tried again is no failure.
  expect(ended.mock.calls.filter(([, ok]) => !ok)).toHaveLength(5);
});

test('a job whose process died in every attempt is given up too', async () => {
  const jobs = newJobs();
  const [attempt, giveUp] = [vi.fn(async () => {}), vi.fn(async () => {})];
  jobs.handle('export', attempt, giveUp);
  await send(jobs, 'export');
  for (let n = 0; n < 7; n++) {
    expect(await claim()).not.toBeNull();
    service.clock.now += 30_001;
  }
  await jobs.tick('export');
  expect([attempt, giveUp].map((each) => each.mock.calls.length)).toEqual([0, 1]);
});

test('a job that nothing gives up is dropped, not attempted again, after its process died in every attempt', async () => {
  const jobs = newJobs();
  const attempt = vi.fn(async () => {});
  jobs.handle('tenant-mail', attempt);
  await send(jobs, 'tenant-mail');
  const open = [{ name: 'tenant-mail', perTenant: 1, records: false }];
  for (let n = 0; n < 13; n++) {
    expect(await claim(undefined, open)).not.toBeNull();
    service.clock.now += 30_001;
  }
  ended.mockClear();
  await jobs.tick('tenant-mail');
  expect(attempt).not.toHaveBeenCalled();
  expect(ended.mock.calls.map(([work, ok]) => [work, ok])).toEqual([['tenant-mail', false]]);
  expect(await stored()).toEqual([]);
});

test('a process that stops gives its job back at once, and the attempt does not count', async () => {
  const jobs = newJobs();
  const begun = Promise.withResolvers<void>();
  jobs.handle<object>('export', ({ signal }) => {
    begun.resolve();
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    );
  });
  await send(jobs, 'export');
  const ticking = jobs.tick('export');
  await begun.promise;
  ended.mockClear();
  await jobs.stop();
  await ticking;
  expect(await stored()).toEqual([{ attempts: 0, leased: false, inMs: 0 }]);
  expect(ended).not.toHaveBeenCalled();
});

test('a job that is taken back while it runs is aborted, and not repeated', async () => {
  const jobs = newJobs();
  const [id, tenantId] = [randomUUID(), randomUUID()];
  const begun = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<unknown>();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  jobs.handle<object>('export', async ({ signal }) => {
    begun.resolve();
    const reason = await new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve(signal.reason)),
    );
    aborted.resolve(reason);
    throw reason;
  });
  await send(jobs, 'export', { id, tenantId });
  const ticking = jobs.tick('export');
  await begun.promise;
  await write(service.db, (tx) => jobs.cancel(tx, 'export', tenantId, id));
  vi.advanceTimersByTime(10_000); // to the next renewal of the lease
  vi.useRealTimers();
  expect(String(await aborted.promise)).toContain('taken back');
  await ticking;
  expect(await stored()).toEqual([]);
});
