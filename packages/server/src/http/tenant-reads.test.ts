import { once } from 'node:events';
import { connect } from 'node:net';
import { lockWaits } from '@indelible/testing/lock-waits';
import { eventOf, testService } from '@indelible/testing/service';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { withOwnerSession } from '../postgres/db.ts';
import { queueReads } from './tenant-reads.ts';

/* One tenant's questions and another's: a lock on the events makes each last as long as it does. */

const service = await testService({ DATABASE_POOL_SIZE: '10' }, 10);
const { port } = new URL(await service.app.http.listen({ port: 0, host: '127.0.0.1' }));
const [crowd, other] = [await service.tenant(), await service.tenant()];
const statistics = '/api/audit-logs/stats?group_by=action';
const list = '/api/audit-logs';

/** Runs `work` while no event can be read. */
async function whileLocked(work: () => Promise<void>): Promise<void> {
  await service.owner.query('BEGIN; LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE');
  try {
    await work();
  } finally {
    await service.owner.query('ROLLBACK');
  }
}

/** Before PostgreSQL's lock_timeout of five seconds, which ends every wait. */
const soon = { timeout: 4_000 };

const statusOf = async (url: string, key: string | null) =>
  (await service.call({ url, key })).status;

const running = () => lockWaits(service.owner);

test("a crowd of one tenant's questions leaves connections to others, and to readiness", async () => {
  let crowds: Promise<number>[] = [];
  let others: Promise<number>[] = [];
  await whileLocked(async () => {
    const crowdOf = (url: string) => Array.from({ length: 55 }, () => statusOf(url, crowd.key));
    crowds = [...crowdOf(statistics), ...crowdOf(list)];
    await expect.poll(running, soon).toBe(4); // one of two for statistics, three of four for lists
    others = [statusOf(statistics, other.key), statusOf(list, other.key)];
    await expect.poll(running, soon).toBe(6);
    expect(await statusOf('/readyz', null)).toBe(200);
    expect(await statusOf('/healthz', null)).toBe(200);
  });
  expect(await Promise.all(others)).toEqual([200, 200]);
  const counts = Object.groupBy(await Promise.all(crowds), String);
  expect(Object.keys(counts)).toEqual(['200', '429']);
  expect(counts['200']).toHaveLength(1 + 50 + 3 + 50);
});

test("a tenant's list is answered while forty statistics of another are still waiting", async () => {
  const events = Array.from({ length: 200 }, () => eventOf());
  const batch = { method: 'POST', url: `${list}/batch`, key: crowd.key, body: { events } } as const;
  expect((await service.call(batch)).status).toBe(200);
  let ended = 0;
  const crowds = Array.from({ length: 40 }, () =>
    statusOf(statistics, crowd.key).finally(() => void ended++),
  );
  await expect.poll(() => ended, { interval: 1 }).toBeGreaterThan(0);
  const before = ended;
  expect(await statusOf(list, other.key)).toBe(200);
  expect(ended - before).toBeLessThan(20);
  expect(new Set(await Promise.all(crowds))).toEqual(new Set([200]));
});

test('the statement of a caller who hangs up is cancelled, and its slot is free', async () => {
  await whileLocked(async () => {
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `GET ${statistics} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${crowd.key}\r\n\r\n`,
    );
    await expect.poll(running, soon).toBe(1);
    socket.destroy();
    await expect.poll(running, soon).toBe(0);
  });
  expect(await statusOf(statistics, crowd.key)).toBe(200);
});

test('reads that wait for a checkpoint leave their slots to others', async () => {
  const proofOf = async (tenant: typeof other) => {
    const body = eventOf();
    const { id } = (await service.call({ method: 'POST', url: list, key: tenant.key, body })).body;
    return `${list}/${id}/proof`;
  };
  const wanted = await Promise.all([crowd, crowd, crowd, other, other, other].map(proofOf));
  await service.owner.query('BEGIN; SELECT FROM log_rounds FOR UPDATE');
  const proofs = wanted.map((url, nth) => statusOf(url, nth < 3 ? crowd.key : other.key));
  const search = { method: 'POST', url: `${list}/searches`, key: crowd.key } as const;
  const saved = service.call({ ...search, body: { filters: {} } });
  try {
    await expect.poll(running, soon).toBe(1); // a round
    const ended = Promise.race([...proofs, saved]).then(() => 'a proof');
    for (const { key } of [crowd, other])
      expect(await Promise.race([statusOf(list, key), ended])).toBe(200);
    const unknown = statusOf(`${list}/searches/srch_01m8cmdppqe008rqtpj9c4ktnw`, crowd.key);
    expect(await Promise.race([unknown, ended])).toBe(404);
  } finally {
    await service.owner.query('ROLLBACK');
  }
  expect(await Promise.all(proofs)).toEqual(wanted.map(() => 200));
  expect((await saved).status).toBe(201);
});

test('a search goes on after its wait for a checkpoint before those that have not begun', async () => {
  const url = `${list}/searches`;
  const save = { method: 'POST', url, key: crowd.key, body: { filters: {} } } as const;
  const { id } = (await service.call(save)).body;
  await service.owner.query('BEGIN; SELECT FROM log_rounds FOR UPDATE');
  const opened = statusOf(`${url}/${id}`, crowd.key);
  await expect.poll(running, soon).toBe(1); // a round
  await withOwnerSession(service.ownerUrl, async (owner) => {
    await owner.query('BEGIN; LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE');
    let ended = 0;
    const others = Array.from({ length: 51 }, () => service.call(save).finally(() => void ended++));
    await expect.poll(running, soon).toBe(2); // one of the others; fifty wait for its slot
    await service.owner.query('ROLLBACK');
    await service.app.checkpoints.tick(); // the same round
    await owner.query('ROLLBACK');
    expect(await opened).toBe(200);
    expect(ended).toBeLessThan(2); // the one that had begun
    for (const { status } of await Promise.all(others)) expect(status).toBe(201);
  });
});

test('a read that goes on after its caller has hung up keeps its slot', async () => {
  const http = Fastify();
  http.decorateRequest('principal', { getter: () => ({ tenantId: 'one' }) } as never);
  queueReads(http, 10);
  const steps: string[] = [];
  const [gone, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  http.get('/:nth', { config: { scope: 'public', reads: 'search' } }, async (request) => {
    const { nth } = request.params as { nth: string };
    steps.push(`${nth} begins`);
    request.gone?.addEventListener('abort', () => gone.resolve());
    if (nth === '1') await end.promise;
    steps.push(`${nth} ends`);
    return {};
  });
  http.get('/page', { config: { scope: 'public' } }, async () => ({}));
  const url = await http.listen({ port: 0, host: '127.0.0.1' });
  const hangUp = new AbortController();
  const first = fetch(`${url}/1`, { signal: hangUp.signal }).catch(() => 'hung up');
  await expect.poll(() => steps).toEqual(['1 begins']);
  hangUp.abort();
  expect(await first).toBe('hung up');
  await gone.promise;
  const second = fetch(`${url}/2`);
  expect((await fetch(`${url}/page`)).status).toBe(200);
  end.resolve();
  expect((await second).status).toBe(200);
  expect(steps).toEqual(['1 begins', '1 ends', '2 begins', '2 ends']);
  await http.close();
});
