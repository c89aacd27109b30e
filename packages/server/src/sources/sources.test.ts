import { nilUuid } from '@indelible/protocol';
import { costlyRuns } from '@indelible/testing/arbitraries';
import { expectLogIntact } from '@indelible/testing/intact';
import { callOn, eventOf, serviceOn, testService } from '@indelible/testing/service';
import fc from 'fast-check';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';

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
    method: 'POST',
    url: '/api/audit-logs/batch',
    key,
    body: { events },
  });
  expect(status).toBe(200);
  return body.results.map((result: { status: string }) => result.status);
}

const send = (id: string, numbers: readonly number[], app = service.app) =>
  record(
    numbers.map((number) => stamped(id, number)),
    app,
  );

/** Another key of the tenant, with its id. */
async function furtherKey({ id } = tenant): Promise<{ id: string; key: string }> {
  const url = `/api/tenants/${id}/api-keys`;
  const body = { name: 'another key', scopes: ['events:write', 'events:read'] };
  return (await service.call({ method: 'POST', url, body })).body;
}

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
  const { data } = await get(`?action=${action}&sort=sequence&limit=100`);
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

test('lost, late, repeated and reordered events leave the gaps that a naive model has', async () => {
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
    costlyRuns,
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
      id: 'billing',
      lastSequence: 5,
      silent: false,
      gapsDroppedAt: null,
      keyId: expect.any(String),
      firstReceivedAt: before,
      lastReceivedAt: after,
      gaps: [{ from: 2, to: 4, afterReceivedAt: before, noticedAt: after }],
    },
    expect.objectContaining({
      id: 'crm',
      lastSequence: 7,
      gapsDroppedAt: null,
      gaps: [{ from: 0, to: 6, afterReceivedAt: after, noticedAt: after }],
    }),
  ]);
});

test('an event that is refused is a gap, and a repeated one changes nothing', async () => {
  const event = { ...stamped('billing', 0), timestamp: new Date(service.clock.now).toISOString() };
  const { body } = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
    body: event,
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

test('another key of the tenant fills no gap, crowds none out and has no source forgotten', async () => {
  await send('billing', [0, 3]);
  const { key } = tenant;
  const other = await furtherKey();
  tenant = { ...tenant, key: other.key };
  await send('billing', [1, 2]);
  const holes = Array.from({ length: 400 }, (_, at) => 2 * at + 4);
  await send('billing', holes);
  await record(Array.from({ length: 800 }, (_, at) => stamped(`pod ${at}`, 0)));
  service.clock.now += 15 * minute;
  for (let times = 0; times < 2; times++) await tell();
  const ofKey = <Row extends { keyId: string }>(rows: Row[]) =>
    rows.filter(({ keyId }) => keyId !== other.id);
  const gaps = [{ from: 1, to: 2 }];
  expect(ofKey(await sources())).toMatchObject([{ id: 'billing', gaps }]);
  expect(ofKey((await told('report_gap')).map(({ after }) => after))).toMatchObject([{ gaps }]);
  tenant = { ...tenant, key };
  await send('billing', [1, 2]);
  expect(ofKey(await sources())).toMatchObject([{ id: 'billing', gaps: [] }]);
});

test('a gap that is dropped before it was told is told by the next run, once', async () => {
  const toldGaps = async () =>
    (await told('report_gap'))
      .filter(({ resource }) => resource.name === 'wide')
      .flatMap(({ after }) => after.gaps.map(({ from }: { from: number }) => from));
  await send(
    'wide',
    Array.from({ length: 60 }, (_, at) => 2 * at),
  );
  await tell();
  const dropped = Array.from({ length: 9 }, (_, at) => 2 * at + 1);
  expect(await toldGaps()).toEqual(dropped);
  service.clock.now += minute;
  const pods = Array.from({ length: 499 }, (_, at) => `pod ${at}`);
  await record(pods.flatMap((id) => [stamped(id, 0), stamped(id, 2)]));
  await send('last', [0]);
  await tell(); // "wide" was forgotten, because each other source has a gap too
  const rest = Array.from({ length: 50 }, (_, at) => 2 * at + 19);
  expect(await toldGaps()).toEqual([...dropped, ...rest]);
  service.clock.now += minute;
  await tell();
  expect(await toldGaps()).toHaveLength(59);
  expect(await sources()).toHaveLength(451);
  await expectLogIntact(service, tenant.id);
});

test('a key that replaces another one goes on with its source, and the former key is not silent', async () => {
  await send('billing', [0, 1, 2]);
  const next = await furtherKey();
  tenant = { ...tenant, key: next.key };
  await send('billing', [5]);
  expect(await sources()).toMatchObject([
    { lastSequence: 2, gaps: [] },
    { keyId: next.id, lastSequence: 5, gaps: [{ from: 3, to: 4 }] },
  ]);
  const url = `/api/tenants/${tenant.id}/api-keys`;
  const { data } = (await service.call({ url })).body;
  const [{ id }] = data.filter(({ id }: { id: string }) => id !== next.id);
  expect((await service.call({ method: 'DELETE', url: `${url}/${id}` })).status).toBe(204);
  service.clock.now += 25 * hour;
  await tell();
  expect((await told('report_silence')).map(({ after }) => after.keyId)).toEqual([next.id]);
});

test('another key that sends as an instance of a source does not hide that the source is silent', async () => {
  await send('billing/a', [0]);
  const [{ keyId }] = await sources();
  service.clock.now += hour;
  tenant = { ...tenant, key: (await furtherKey()).key };
  await send('billing/b', [0]);
  service.clock.now += 23 * hour;
  await tell();
  expect(await told('report_silence')).toMatchObject([
    { resource: { name: 'billing/a' }, after: { keyId } },
  ]);
});

test('a source of an earlier build belongs to the first key that sends it', async () => {
  await send('billing', [0, 3]);
  const [{ keyId }] = await sources();
  for (const table of ['sources', 'source_gaps']) {
    const nil = `UPDATE ${table} SET key_id = $2 WHERE tenant_id = $1`;
    await service.owner.query(nil, [tenant.id, nilUuid]);
  }
  await send('billing', [2, 4]);
  expect(await sources()).toMatchObject([{ keyId, lastSequence: 4, gaps: [{ from: 1, to: 1 }] }]);
});

test('500 sources a key and 50 gaps a source are kept: those with gaps, and the latest', async () => {
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
  // Of those without a gap 50 make room for the last one.
  const kept = [...ids.slice(0, 449), ...ids.slice(499)];
  expect((await sources()).map(({ id }: { id: string }) => id)).toEqual([...kept, 'wide']);
  // Whether it is a new one cannot be known any more.
  await send('pod 498', [120]);
  const back = (await sources()).find(({ id }: { id: string }) => id === 'pod 498');
  expect(back).toMatchObject({ gaps: [], gapsDroppedAt: back.lastReceivedAt });
});
