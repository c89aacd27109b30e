import { firstUuidAt, longFields, nilUuid } from '@indelible/protocol';
import { afterEach, expect, test } from 'vitest';
import { readShown } from '../events/store.ts';
import { unpackEvent, uuidBytes, wholeFields } from '../exports/file/packed-event.ts';
import { nextRows } from '../exports/file/rows.store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { type ArchiveChanges, archiveOf, configOf, envOf } from '../testing/archived.ts';
import { moveToArchive, rowsOf, tenantOfMonths } from '../testing/cold.ts';
import { askForJob, download, exportsUrl, exportUntil, hasEnded } from '../testing/exports.ts';
import { objectOf } from '../testing/object-of.ts';
import { keyOf } from '../testing/restore-setup.ts';
import { change, day, recordAt, runTwice, tenantOf } from '../testing/retention-setup.ts';
import { startS3Server } from '../testing/s3-server.ts';
import { callOn, eventOf, serviceOn, testService } from '../testing/service.ts';
import { webhookReceiver } from '../testing/webhook-receiver.ts';
import { webhookCalls } from '../testing/webhook-setup.ts';
import { forgetArchive } from './command.ts';

const s3 = await startS3Server();
const objectStoreUrl = await s3.newUrl();
const service = await testService({
  ...{ OBJECT_STORE_URL: objectStoreUrl, WEBHOOK_ALLOW_PRIVATE: 'true' },
});
service.app.jobs.start();
const tenant = await tenantOfMonths(service, 60);
await archiveOf(service, tenant.id, {}, objectStoreUrl);
const all = await rowsOf(service, tenant);
afterEach(() => s3.fault(null));

const get = (url: string, key = tenant.key) => service.call({ url, key });
/** Four months and the running one have at most 154 days: older events are in the archive. */
const archivedBefore = () => service.clock.now - 160 * day;
const oldOnes = () => `/api/audit-logs?limit=200&to=${new Date(archivedBefore()).toISOString()}`;
const idsOf = async (url: string): Promise<string[]> =>
  (await get(url)).body.data.map(({ id }: { id: string }) => id);
const post = (url: string, body: unknown) =>
  service.call({ method: 'POST', url, key: tenant.key, body });
const filters = { action: ['update', 'create', 'login', 'publish'] };

/** A run whose connection is lost at the nth transaction, before or after its commit. */
async function lostAt(step: number, isCommitted: boolean): Promise<string | null> {
  let left = step;
  const owner: ArchiveChanges['owner'] = (transaction) => async (work) => {
    left -= 1;
    if (left === 0 && !isCommitted) throw new Error('the connection was lost');
    const result = await transaction(work);
    if (left === 0) throw new Error('the connection was lost');
    return result;
  };
  const changes = { owner, hotMonths: 4 };
  return (await archiveOf(service, tenant.id, changes, objectStoreUrl)).problem;
}

test('a crash at any step loses no event and shows none twice', async () => {
  const ids = await idsOf(oldOnes());
  expect(ids.length).toBeGreaterThan(20);
  let problem: string | null = '';
  for (let step = 3; problem !== null; step += 3) {
    for (const isCommitted of [false, true]) {
      problem = await lostAt(step, isCommitted);
      expect([null, 'the connection was lost']).toContain(problem);
      expect(await idsOf(oldOnes())).toEqual(ids);
    }
  }
  await moveToArchive(service, tenant, objectStoreUrl);
  expect(await rowsOf(service, tenant)).toBeLessThan(all - 20);
  expect(await idsOf(oldOnes())).toEqual(ids);
});

test('rows of events whose archive is gone stay in PostgreSQL, and the run says what is missing', async () => {
  const own = await testService();
  try {
    const owned = await tenantOfMonths(own, 60);
    const before = await rowsOf(own, owned);
    await archiveOf(own, owned.id, { hotMonths: 4 });
    const objects = openObjectStore(configOf(own).objectStoreUrl);
    const names = await objects.list(`archive/tenant=${owned.id}`);
    const name = names.find((each) => each.endsWith('.parquet')) ?? '';
    const bytes = (await objectOf(objects, name)) ?? new Uint8Array();
    await objects.remove(name);
    const { problem } = await archiveOf(own, owned.id, { hotMonths: 4 });
    expect(problem).toContain(`${name}, from which older events are read, is not in the object`);
    expect(await rowsOf(own, owned)).toBeGreaterThanOrEqual(before);
    await objects.putIfAbsent(name, bytes);
    await moveToArchive(own, owned);
    expect(await rowsOf(own, owned)).toBeLessThan(before - 20);
  } finally {
    await own.close();
  }
});

test('exports, made at once and as jobs, hold the events of both', async () => {
  const listed = await idsOf(
    `/api/audit-logs?limit=500&${filters.action.map((each) => `action=${each}`).join('&')}`,
  );
  const file = (await post(exportsUrl, { filters, format: 'csv' })).text;
  const idsIn = (text: string) => text.match(/^evt_audit_\w+/gm) ?? [];
  expect(idsIn(file)).toEqual(listed);
  const job = await askForJob(service, tenant.key, { filters, format: 'csv' });
  const ready = await exportUntil(service, tenant.key, job.id, hasEnded);
  expect(ready.status).toBe('ready');
  expect((await download(service, tenant.key, job.id)).text).toBe(file);
  const lines = (await post(exportsUrl, { filters, format: 'ndjson' })).text.trim().split('\n');
  const [oldest] = listed.slice(-1);
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual((await get(`/api/audit-logs/${oldest}`)).body);
});

test('a page of an export takes no larger event than it may, also of the archive', async () => {
  const { now } = service.clock;
  const wanted = { filter: {}, beforeSequence: Number.MAX_SAFE_INTEGER, oldestId: nilUuid };
  const range = { from: nilUuid, before: firstUuidAt(archivedBefore()) };
  const pageOf = (eventBytesMax: number) =>
    readShown(service.db, tenant.id, now, (shown) => {
      const rows = { ...wanted, fields: wholeFields, withStates: true };
      return nextRows(rows, shown, range, { rows: 500, eventBytesMax });
    });
  const [all, small] = [await pageOf(65_536), await pageOf(100)];
  const bytesOf = (row: string) => {
    const event = unpackEvent(row);
    const texts = event ? longFields(true).map(({ key }) => event[key]) : [];
    return Buffer.byteLength(texts.join(''));
  };
  const fitting = all.rows.map((row) => (bytesOf(row) > 100 ? row.slice(0, uuidBytes) : row));
  expect(small.alone).toBeGreaterThan(0);
  expect(small.rows).toEqual(fitting);
});

test('a saved search counts and digests the events of both', async () => {
  const { body } = await post('/api/audit-logs/searches', { filters });
  const listed = await idsOf(
    `/api/audit-logs?limit=500&${filters.action.map((each) => `action=${each}`).join('&')}`,
  );
  expect(body.matched.value).toBe(listed.length);
  const again = await get(`/api/audit-logs/searches/${body.id}`);
  expect(again.body).toMatchObject({ matched: body.matched, digest: body.digest });
});

test('an event of the archive is proven as before', async () => {
  const [newest = ''] = await idsOf(oldOnes());
  const { status, body } = await get(`/api/audit-logs/${newest}/proof`);
  expect([status, body.event.id]).toEqual([200, newest]);
});

/** An event of the archive, as it was sent. */
async function archivedEvent() {
  const { data } = (await get(oldOnes())).body;
  const { id, actor, action, resource, diff } = data.find(
    (event: { recordedBy: { kind: string } }) => event.recordedBy.kind === 'api_key',
  );
  return { id, actor, action, resource, diff };
}

test('an event of the archive that is sent again is a duplicate, or a conflict', async () => {
  const ids = await idsOf(oldOnes());
  const again = await archivedEvent();
  expect((await post('/api/audit-logs', again)).status).toBe(200);
  const other = { ...again, diff: { n: { from: 0, to: 'other' } } };
  expect((await post('/api/audit-logs', other)).status).toBe(409);
  expect(await idsOf(oldOnes())).toEqual(ids);
});

test('another tenant reads none of them, also with a row that names a foreign folder', async () => {
  const other = await service.tenant();
  const [id = ''] = await idsOf(oldOnes());
  const foreign = (url: string) => get(url, other.key);
  const bound = 'SELECT cold_before AS before FROM tenants WHERE id = $1';
  const { rows } = await service.owner.query(bound, [tenant.id]);
  const moved = 'UPDATE tenants SET cold_before = $2 WHERE id = $1';
  await service.owner.query(moved, [other.id, rows[0].before]);
  expect((await foreign(`/api/audit-logs/${id}`)).status).toBe(404);
  await service.owner.query(
    `INSERT INTO cold_parts SELECT $2, first_sequence, last_sequence, lowest, highest, folder, files, keys
     FROM cold_parts WHERE tenant_id = $1`,
    [tenant.id, other.id],
  );
  expect((await foreign(`/api/audit-logs/${id}`)).status).toBe(500);
  await service.owner.query('DELETE FROM cold_parts WHERE tenant_id = $1', [other.id]);
});

test('without the object store newer events are recorded and answered, and older ones are 503 with a sentence', async () => {
  const old = await archivedEvent();
  const env = { OBJECT_STORE_URL: objectStoreUrl };
  const withoutCopies = await serviceOn(service.servingUrl, service.clock, env, 2, {
    coldCacheBytesMax: 0,
  });
  const ask = (url: string) => callOn(withoutCopies.app, { url, key: tenant.key });
  s3.fault(() => 500);
  const { body } = await ask('/api/audit-logs?limit=50&include=total');
  const hot = await rowsOf(service, tenant);
  expect(body.pagination.total).toEqual({ value: hot, relation: 'gte' });
  const answer = await ask(oldOnes());
  expect([answer.status, answer.body.code]).toEqual([503, 'archive_unavailable']);
  expect(answer.body.detail).toContain('older events are in the object store');
  expect(answer.headers['retry-after']).toBe('1');
  const send = (path: string, body: unknown) =>
    callOn(withoutCopies.app, {
      method: 'POST',
      url: `/api/audit-logs${path}`,
      key: tenant.key,
      body,
    });
  const { results } = (await send('/batch', { events: [old, eventOf(), old] })).body;
  expect(results).toMatchObject([
    { status: 'rejected', error: { code: 'unavailable' } },
    { status: 'created' },
    { status: 'rejected', error: { code: 'unavailable' } },
  ]);
  const alone = await send('', old);
  expect([alone.status, alone.body.code, alone.headers['retry-after']]).toEqual([
    503,
    'unavailable',
    '1',
  ]);
  s3.fault(null);
  expect((await ask(oldOnes())).status).toBe(200);
  expect((await send('', old)).status).toBe(200);
  await withoutCopies.close();
});

test('a webhook that is sent back to the first event gets those of the archive', async () => {
  const receiver = await webhookReceiver();
  const key = await keyOf(service, tenant.id, ['events:read', 'webhooks:write']);
  const hooks = webhookCalls(service, { ...tenant, key, receiver });
  const { id } = await hooks.create();
  await hooks.act(id, 'replay', { fromSequence: 0 });
  const ids = await idsOf(oldOnes());
  const missing = async () => {
    await service.app.webhooks.tick();
    const received = new Set(receiver.events().map((event) => event.id));
    return ids.filter((each) => !received.has(each));
  };
  await expect.poll(missing, { timeout: 20_000 }).toEqual([]);
  await receiver.close();
});

test('a test of an alert rule does not pass over the archive in silence', async () => {
  const key = await keyOf(service, tenant.id, ['events:read', 'alerts:write']);
  const rule = { name: 'a rule', kind: 'match', filters: {}, enabled: false };
  const since = (days: number) => new Date(service.clock.now - days * day).toISOString();
  const ask = (days: number, more = {}) =>
    service.call({
      ...{ method: 'POST', url: '/api/alert-rules/test', key },
      body: { rule: { ...rule, ...more }, since: since(days) },
    });
  const { status, body } = await ask(250);
  expect([status, body.errors?.[0].path]).toEqual([422, '/since']);
  expect(body.detail).toContain('a test does not read the archive');
  expect((await ask(90)).status).toBe(200);
  const remembering = { kind: 'first_seen', groupBy: 'actor', lookbackDays: 70 };
  const { body: later } = await ask(90, remembering);
  expect(later.errors?.[0].path).toBe('/since');
  const [earliest = ''] = /\S+Z/.exec(later.detail) ?? [];
  const days = (service.clock.now - Date.parse(earliest)) / day;
  expect((await ask(days, remembering)).status).toBe(200);
});

test('the archive of a tenant whose events have left PostgreSQL is not forgotten', async () => {
  const env = { ...envOf(service), OBJECT_STORE_URL: await s3.newUrl() };
  await expect(forgetArchive(env, tenant.id)).rejects.toThrow('have left PostgreSQL');
});

test('a legal hold keeps archived events, and the end of their retention hides them for ever', async () => {
  const ids = await idsOf(oldOnes());
  await change(service, tenant, { legalHold: true });
  await change(service, tenant, { plan: 'Starter' });
  const passing = async (days: number) => {
    service.clock.now += days * day;
    return (await runTwice(service))?.tenants.filter(({ tenantId }) => tenantId === tenant.id);
  };
  const url = oldOnes();
  expect(await passing(40)).toEqual([]);
  expect(await idsOf(url)).toEqual(ids);
  await change(service, tenant, { legalHold: false });
  expect(await passing(20)).toEqual([]);
  await change(service, tenant, { plan: 'Enterprise' });
  expect(await idsOf(url)).toEqual(ids);
  await change(service, tenant, { plan: 'Starter' });
  const [removed] = (await passing(40)) ?? [];
  expect(removed?.count).toBeGreaterThan(ids.length);
  await change(service, tenant, { plan: 'Enterprise' });
  const late = (await idsOf(url)).length;
  expect(late).toBeLessThan(4);
  await moveToArchive(service, tenant, objectStoreUrl);
  expect((await idsOf(url)).length).toBe(late);
});

test('events that their plan hid when they were archived stay in PostgreSQL until retention removes them, and the run says so', async () => {
  const old = await tenantOf(service, 'Enterprise', 2_700);
  const { now } = service.clock;
  for (const daysAgo of [2_640, 2_639, 200]) await recordAt(service, old, now - daysAgo * day);
  const move = () => archiveOf(service, old.id, { hotMonths: 4 }, objectStoreUrl);
  const { problem } = await move();
  expect(problem).toMatch(/it lacks the event evt_audit_\w+, which the plan hid when/);
  expect(problem).toContain('Events from there on stay in PostgreSQL until retention has removed');
  await runTwice(service);
  expect((await move()).problem).toBe(null);
});
