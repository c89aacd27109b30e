import fc from 'fast-check';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { expectLogIntact } from '../testing/intact.ts';
import { callOn, eventOf, serviceOn, testService } from '../testing/service.ts';

const minute = 60_000;
const hour = 60 * minute;

let tenant: { id: string; key: string };
const service = await testService({ METRICS_TOKEN: 'a-token' });
beforeEach(async () => {
  tenant = await service.tenant();
});

const stamped = (id: string, sequence: number) => eventOf({ source: { id, sequence } });

async function record(events: readonly unknown[], app = service.app) {
  const { key } = tenant;
  const { status, body } = await callOn(app, {
    ...{ method: 'POST', url: '/api/audit-logs/batch', key, body: { events } },
  });
  expect(status).toBe(200);
  return body.results.map((result: { status: string }) => result.status);
}

const send = (id: string, numbers: readonly number[], app = service.app) =>
  record(
    numbers.map((number) => stamped(id, number)),
    app,
  );

async function sources({ key } = tenant) {
  const { status, body } = await service.call({ url: '/api/sources', key });
  expect(status).toBe(200);
  return body.data;
}

const gapsOf = async (id: string): Promise<number[][]> => {
  const found = (await sources()).find((source: { id: string }) => source.id === id);
  return found.gaps.map(({ from, to }: { from: number; to: number }) => [from, to]);
};

async function told(action: string) {
  const get = async (path: string) =>
    (await service.call({ url: `/api/audit-logs${path}`, key: tenant.key })).body;
  const { data } = await get(`?action=${action}&sort=sequence`);
  return Promise.all(data.map(({ id }: { id: string }) => get(`/${id}`)));
}

const tell = (app = service.app) => app.background.run('sources');

/** The numbers from 0 to the last one that are not among them, as ranges. */
function missing(numbers: ReadonlySet<number>): number[][] {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted.flatMap((number, at) => {
    const next = (sorted[at - 1] ?? -1) + 1;
    return next < number ? [[next, number - 1]] : [];
  });
}

test('what is lost, late, repeated and reordered leaves the gaps that a naive model has', async () => {
  const batch = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 8 });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 6 }), async (batches) => {
      run += 1;
      const id = `run ${run}`;
      const received = new Set<number>();
      for (const numbers of batches) {
        await send(id, numbers);
        for (const number of numbers) received.add(number);
        expect(await gapsOf(id)).toEqual(missing(received));
      }
    }),
    { numRuns: 20 },
  );
});

test('a source has its last number and receipt, and a gap says between which receipts it lies', async () => {
  const before = new Date(service.clock.now).toISOString();
  await send('billing', [0, 1]);
  service.clock.now += minute;
  const after = new Date(service.clock.now).toISOString();
  await send('billing', [5]);
  await send('crm', [7]);
  expect(await sources()).toEqual([
    {
      ...{ id: 'billing', lastSequence: 5, silent: false, gapsDroppedAt: null },
      ...{ firstReceivedAt: before, lastReceivedAt: after },
      gaps: [{ from: 2, to: 4, afterReceivedAt: before, noticedAt: after }],
    },
    expect.objectContaining({
      ...{ id: 'crm', lastSequence: 7, gapsDroppedAt: null },
      gaps: [{ from: 0, to: 6, afterReceivedAt: after, noticedAt: after }],
    }),
  ]);
});

test('an event that is refused is a gap, and a repeated one changes nothing', async () => {
  const event = { ...stamped('billing', 0), timestamp: new Date(service.clock.now).toISOString() };
  const { body } = await service.call({
    ...{ method: 'POST', url: '/api/audit-logs', key: tenant.key, body: event },
  });
  service.clock.now += hour;
  expect(await record([{ ...event, id: body.id }])).toEqual(['duplicate']);
  const [{ lastReceivedAt }] = await sources();
  expect(lastReceivedAt).toBe(body.receivedAt);
  const refused = { ...stamped('billing', 1), action: 'No word' };
  expect(await record([refused, stamped('billing', 2)])).toEqual(['rejected', 'created']);
  expect(await gapsOf('billing')).toEqual([[1, 1]]);
});

test('a number that comes again with another event says that the list of gaps is not complete', async () => {
  await send('billing', [0, 1, 2, 5]);
  await send('billing', [3, 6]);
  expect(await sources()).toMatchObject([{ gapsDroppedAt: null }]);
  service.clock.now += minute;
  await send('billing', [2, 7]); // as after a restored backup: the former 2 may be another event
  await send('crm', [0, 0]);
  const noticed = new Date(service.clock.now).toISOString();
  expect(await sources()).toMatchObject([
    { id: 'billing', gapsDroppedAt: noticed, gaps: [{ from: 4, to: 4 }] },
    { id: 'crm', gapsDroppedAt: noticed, gaps: [] },
  ]);
});

test('two processes that record from one source at once see the same gaps', async () => {
  const other = await serviceOn(service.servingUrl, service.clock);
  const numbers = Array.from({ length: 60 }, (_, at) => at).filter((number) => number % 10 !== 5);
  await Promise.all(
    numbers.map((number, at) => send('shared', [number], (at % 2 ? other : service).app)),
  );
  expect(await gapsOf('shared')).toEqual(missing(new Set(numbers)));
  await other.close();
});

test("another tenant's sources are not shown", async () => {
  await send('billing', [0, 2]);
  expect(await sources(await service.tenant())).toEqual([]);
});

test('an operator who looks at the sources is recorded', async () => {
  await send('billing', [0]);
  const headers = { 'x-tenant-id': tenant.id, 'x-access-reason': 'ticket 4711' };
  expect((await service.call({ url: '/api/sources', headers })).body.data).toHaveLength(1);
  const [access] = await told('access');
  expect(access.after).toMatchObject({ lookedAt: 'sources', outcome: 'answered' });
});

test('a gap that stays open is recorded once, whatever processes look; one that fills is not', async () => {
  const other = await serviceOn(service.servingUrl, service.clock);
  await send('billing', [0, 3, 6]);
  await tell();
  await send('billing', [4, 5]);
  service.clock.now += 15 * minute;
  await Promise.all([tell(), tell(other.app), tell(), tell(other.app)]);
  const [event, ...more] = await told('report_gap');
  expect(more).toEqual([]);
  expect(event).toMatchObject({
    resource: { type: 'source', name: 'billing' },
    recordedBy: { kind: 'service' },
    after: { gaps: [{ from: 1, to: 2 }] },
  });
  const metrics = await service.call({ url: '/metrics', key: 'a-token' });
  expect(Number(/^indelible_source_gaps (\d+)$/m.exec(metrics.text)?.[1])).toBeGreaterThan(0);
  await send('billing', [1, 2]);
  expect(await gapsOf('billing')).toEqual([]);
  await other.close();
  await expectLogIntact(service, tenant.id);
});

test('a log that is locked for long delays no report of another tenant', async () => {
  const held = tenant;
  await send('billing', [0, 2]);
  const others = await Promise.all([1, 2, 3].map(() => service.tenant()));
  for (tenant of others) await send('billing', [0, 2]);
  const locker = new pg.Client({ connectionString: service.ownerUrl });
  await locker.connect();
  await locker.query('BEGIN');
  const lock = 'SELECT FROM indelible.log_heads WHERE tenant_id = $1 FOR UPDATE';
  await locker.query(lock, [held.id]);
  service.clock.now += 15 * minute;
  await tell();
  for (tenant of others) expect(await told('report_gap')).toHaveLength(1);
  await locker.end();
  await tell();
  tenant = held;
  expect(await told('report_gap')).toHaveLength(1);
});

const silent = async () =>
  (await sources()).map((source: { id: string; silent: boolean }) => [source.id, source.silent]);

test('a source that stops is told once until it sends again, later if it has paused before', async () => {
  await send('billing', [0]);
  service.clock.now += 23 * hour;
  await tell();
  expect(await told('report_silence')).toEqual([]);
  service.clock.now += 2 * hour;
  for (let times = 0; times < 2; times++) await tell();
  expect(await told('report_silence')).toMatchObject([
    { resource: { type: 'source', name: 'billing' }, after: { lastSequence: 0 } },
  ]);
  expect(await silent()).toEqual([['billing', true]]);
  await send('billing', [1]);
  expect(await silent()).toEqual([['billing', false]]);
  service.clock.now += 49 * hour;
  await tell();
  expect(await told('report_silence')).toHaveLength(1);
  service.clock.now += 2 * hour;
  await tell();
  expect(await told('report_silence')).toHaveLength(2);
});

test('an instance that another one has replaced is not silent, the last one is', async () => {
  await send('billing/a', [0]);
  service.clock.now += hour;
  await send('billing/b', [0]);
  service.clock.now += 24 * hour;
  await tell();
  expect(await silent()).toEqual([
    ['billing/a', false],
    ['billing/b', true],
  ]);
  expect(await told('report_silence')).toMatchObject([{ resource: { name: 'billing/b' } }]);
});

test('500 sources a tenant and 50 gaps a source are kept: the latest', async () => {
  const wide = Array.from({ length: 60 }, (_, at) => 2 * at);
  await send('wide', wide);
  const [source] = await sources();
  expect(source.gaps.map(({ from }: { from: number }) => from)).toEqual(
    wide.slice(9, 59).map((number) => number + 1),
  );
  expect(source.gapsDroppedAt).toBe(source.lastReceivedAt);
  service.clock.now += minute;
  const ids = Array.from({ length: 500 }, (_, at) => `pod ${String(at).padStart(3, '0')}`);
  await record(ids.map((id) => stamped(id, 0)));
  expect((await sources()).map(({ id }: { id: string }) => id)).toEqual(ids);
  // Whether it is a new one cannot be known any more.
  await send('wide', [120]);
  const back = (await sources()).at(-1);
  expect(back).toMatchObject({ id: 'wide', gaps: [], gapsDroppedAt: back.lastReceivedAt });
});
