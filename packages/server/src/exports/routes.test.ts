import { createHash, randomUUID } from 'node:crypto';
import { uuidFromTypeId } from '@indelible/protocol';
import { codeOf, idsListed } from '@indelible/testing/answers';
import { poolEvents, recordAll, tenantWithPool } from '@indelible/testing/event-pool';
import { exportsUrl as url } from '@indelible/testing/exports';
import { turnsOf } from '@indelible/testing/longest-turn';
import { recordingService } from '@indelible/testing/recording';
import { type Answer, eventOf, platformKey } from '@indelible/testing/service';
import { parse } from 'csv-parse/sync';
import type { PoolClient } from 'pg';
import { expect, test } from 'vitest';

const { service, tenant } = await recordingService();

const csv = { filters: {}, format: 'csv' };
const post = (body: unknown, headers: Record<string, string> = {}, key = tenant.key) =>
  service.call({ method: 'POST', url, key, body, headers });
const idsOf = (answer: Answer): string[] =>
  parse<{ id: string }>(answer.text, { columns: true }).map((row) => row.id);

/** Ids of the whole list, page by page. */
async function listed(query = ''): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = `/api/audit-logs?limit=500${query}${cursor && `&cursor=${cursor}`}`;
    const { body } = await service.call({ url: page, key: tenant.key });
    ids.push(...body.data.map((event: { id: string }) => event.id));
    cursor = body.pagination.nextCursor;
  }
  return ids;
}

/** What the tenant's log says of its exports, oldest first. */
async function records() {
  const list = `/api/audit-logs?resource=export&sort=sequence&limit=500`;
  const { body } = await service.call({ url: list, key: tenant.key });
  return Promise.all(
    body.data.map(async ({ id }: { id: string }) => {
      return (await service.call({ url: `/api/audit-logs/${id}`, key: tenant.key })).body;
    }),
  );
}

/**
 * Asks for exports as an operator, and has `meanwhile`
 * happen between their counts and their records.
 */
async function heldUp(
  tenantId: string,
  filters: object,
  meanwhile: () => Promise<unknown>,
  times = 1,
) {
  const { writer } = service.db;
  const taken = await Promise.all(
    Array.from({ length: writer.options.max }, () => writer.connect()),
  );
  const asked = Array.from({ length: times }, () => asOperator(tenantId, { ...csv, filters }));
  await expect.poll(() => writer.waitingCount, { timeout: 20_000 }).toBe(times);
  await meanwhile();
  for (const client of taken) client.release();
  return Promise.all(asked);
}

// Neither this key nor a count needs a connection of the writer's; an export's record does.
const asOperator = (tenantId: string, body: object, headers: Record<string, string> = {}) =>
  post(body, { 'x-tenant-id': tenantId, 'x-access-reason': 'count', ...headers }, platformKey);

test('an export holds the rows of the list, in its order, under the same filters', async () => {
  Object.assign(tenant, await tenantWithPool(service, 900));
  const asked: [filters: object | undefined, query: string][] = [
    [undefined, ''],
    [{}, ''],
    [{ action: ['create', 'login'] }, '&action=create&action=login'],
    [{ resource: '!queue', crossTenant: false }, '&resource=!queue&cross_tenant=false'],
    [
      { user: ['ana@example.com', '10000000-0000-4000-8000-000000000002'] },
      '&user=ana@example.com&user=10000000-0000-4000-8000-000000000002',
    ],
  ];
  for (const [filters, query] of asked) {
    const before = await listed(query);
    const answer = await post({ ...csv, filters });
    expect(answer.status).toBe(200);
    expect(idsOf(answer), query).toEqual(before);
  }
});

test('up to 10,000 rows come at once, one more makes a job', async () => {
  const { id } = tenant;
  const { body } = await service.call({ url: '/api/audit-logs?include=total', key: tenant.key });
  const fill = 10_000 - body.pagination.total.value;
  await recordAll(service, tenant.key, poolEvents(fill, service.clock.now, 30));
  const atOnce = await post(csv);
  expect(atOnce.status).toBe(200);
  expect(idsOf(atOnce)).toHaveLength(10_000);
  // Request and outcome of that export are rows themselves, so the next one has 10,002.
  const filters = { resource: '!export' };
  expect(idsOf(await post({ ...csv, filters }))).toHaveLength(10_000);
  const record = () => recordAll(service, platformKey, [eventOf({ tenantId: id })]);
  const [job] = await heldUp(id, filters, record);
  expect(job?.status).toBe(202);
  expect(job?.headers.location).toBe(`${url}/${job?.body.id}`);
  expect(job?.body).toMatchObject({ mode: 'job', status: 'queued', rowsDone: 0, rowsTotal: null });
});

test('events recorded while an export begins are counted with it, where they match', async () => {
  const { id } = tenant;
  await recordAll(service, tenant.key, [eventOf(), eventOf()]);
  const filters = { action: 'update' };
  const [answer] = await heldUp(id, filters, () =>
    recordAll(service, platformKey, [
      eventOf({ tenantId: id }),
      eventOf({ tenantId: id, action: 'delete' }),
    ]),
  );
  expect(answer && idsOf(answer)).toHaveLength(3);
  const [requested, ended] = await records();
  expect([requested.after.rows, ended.after.rows]).toEqual([3, 3]);
});

test('an export that waits for a connection keeps no caller from recording', async () => {
  const { id } = tenant;
  const record = () => recordAll(service, platformKey, [eventOf({ tenantId: id })]);
  const { reader } = service.db;
  const taken: PoolClient[] = [];
  const meanwhile = async () => {
    await record();
    for (let n = 0; n < reader.options.max; n++) taken.push(await reader.connect());
  };
  const asked = heldUp(id, {}, meanwhile);
  try {
    await expect.poll(() => reader.waitingCount, { timeout: 20_000 }).toBe(1);
    await record();
    expect(reader.waitingCount, 'the export still waits').toBe(1);
  } finally {
    for (const client of taken) client.release();
  }
  const [answer] = await asked;
  expect(answer && idsOf(answer)).toHaveLength(4);
});

test('eight files of a tenant are sent at once, and who asks for more waits, or gets a job', async () => {
  const { id } = tenant;
  const other = await service.tenant();
  const further: Promise<Answer>[] = [];
  const meanwhile = async () => {
    further.push(asOperator(id, csv), asOperator(other.id, csv));
    further.push(asOperator(id, csv, { prefer: 'respond-async' }));
    await expect.poll(() => service.db.writer.waitingCount, { timeout: 20_000 }).toBe(10);
  };
  const sent = await heldUp(id, {}, meanwhile, 8);
  expect(sent.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect((await Promise.all(further)).map(({ status }) => status)).toEqual([200, 200, 202]);
});

test('a filter where filters are not read from is refused, never left out', async () => {
  const job = await post(csv, { prefer: 'respond-async' });
  const asked: [method: 'POST' | 'GET' | 'DELETE', path: string, body?: object][] = [
    ['POST', `${url}?action=login`, csv],
    ['GET', `${url}/${job.body.id}?include=state`],
    ['DELETE', `${url}/${job.body.id}?force=true`],
    ['GET', `${url}/${job.body.id}/download?format=ndjson`],
  ];
  for (const [method, path, body] of asked) {
    const answer = await service.call({ method, url: path, key: tenant.key, body });
    expect(codeOf(answer), path).toEqual([400, 'unknown_parameter']);
  }
  expect(await records()).toHaveLength(1);
});

test('a caller who prefers a job gets one at any size', async () => {
  const answer = await post(csv, { prefer: 'wait=5, respond-async' });
  expect(answer.status).toBe(202);
  expect(answer.headers['preference-applied']).toBe('respond-async');
  expect(answer.body).toMatchObject({ status: 'queued', filters: {}, format: 'csv', rowsTotal: 2 });
});

test('a quoted text is no preference, and an empty value is as good as none', async () => {
  const statusOf = async (prefer: string) => (await post(csv, { prefer })).status;
  for (const prefer of ['foo="a, respond-async"', 'foo="\\", respond-async"', 'respond-async=1']) {
    expect(await statusOf(prefer), prefer).toBe(200);
  }
  for (const prefer of [
    'foo="a,b";c="d;", respond-async',
    'Respond-Async; wait=1',
    'respond-async=""',
  ]) {
    expect(await statusOf(prefer), prefer).toBe(202);
  }
});

test('quotes that never end cost one look at the header', async () => {
  const { total } = await turnsOf(async () => {
    expect((await post(csv, { prefer: `"${'\\"'.repeat(40_000)}` })).status).toBe(200);
  });
  expect(total).toBeLessThan(500);
});

test('an export is recorded with who, what and how much, and again with what came out', async () => {
  await recordAll(service, tenant.key, [eventOf(), eventOf({ action: 'delete' })]);
  const filters = { action: ['delete', '!create'] };
  const answer = await post({ ...csv, filters, columns: ['id', 'sequence'] });
  const [requested, ended, ...more] = await records();
  expect(more).toEqual([]);
  expect(requested).toMatchObject({
    action: 'access',
    category: 'data_access',
    actor: { role: 'api_key', email: null },
    recordedBy: { kind: 'service' },
    after: { filters, mode: 'stream', format: 'csv', columns: ['id', 'sequence'], rows: 1 },
  });
  expect(uuidFromTypeId('exp_', requested.after.exportId)).toBe(requested.resource.id);
  expect(ended).toMatchObject({ action: 'export', actor: { id: requested.actor.id } });
  expect(ended.resource.id).toBe(requested.resource.id);
  expect(ended.after).toMatchObject({
    outcome: 'ready',
    rows: 1,
    bytes: Buffer.byteLength(answer.text),
    sha256: createHash('sha256').update(answer.text).digest('hex'),
  });
});

test('the file has the standard columns, or those asked for in their order', async () => {
  await recordAll(service, tenant.key, [eventOf({ reason: '=1+1; "x",\r\n😀 שלום' })]);
  const standard = await post({ ...csv, filters: { action: 'update' } });
  const [header = [], row = []] = parse(standard.text);
  expect(header.join()).toBe(
    'id,timestamp,tenantId,actor.id,actor.email,actor.role,actor.ip,actor.userAgent,action,resource.type,' +
      'resource.id,resource.name,diff,crossTenant,reason,category,sequence,outcome,actor.name,' +
      'actor.externalId,onBehalfOf,resource.externalId,targets,metadata',
  );
  expect(row[14]).toBe('\'=1+1; "x",\r\n😀 שלום');
  expect(String(standard.headers['content-type'])).toMatch(/^text\/csv; charset=utf-8/);
  const columns = ['sequence', 'recordedBy', 'after', 'id'];
  const own = await post({ ...csv, columns, filters: { action: 'update' } });
  expect(own.text.split('\r\n')[0]).toBe(columns.join());
});

test('the name of the file tells tenant, range and time', async () => {
  const { id } = tenant;
  const name = 'Äcme / Corp';
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body: { name } });
  const filters = { from: '2026-01-01', to: '2026-02-01T10:30:00Z' };
  const answer = await post({ ...csv, filters });
  const time = new Date(service.clock.now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  expect(answer.headers['content-disposition']).toBe(
    `attachment; filename="acme-corp_audit-log_2026-01-01_20260201T103000Z_exported-${time}.csv"`,
  );
  expect(answer.text.split('\r\n')).toHaveLength(2); // nothing but the header
});

test('ndjson holds every event as the single read shows it, states included', async () => {
  const states = { before: { a: 1, b: { c: [1, 'x'] } }, after: { a: 2, b: { c: [] } } };
  await recordAll(service, tenant.key, [eventOf({ ...states, diff: undefined }), eventOf()]);
  const answer = await post({ filters: { action: 'update' }, format: 'ndjson' });
  expect(String(answer.headers['content-type'])).toMatch(/^application\/x-ndjson/);
  const lines = answer.text.trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    const { id } = JSON.parse(line);
    expect(line).toBe((await service.call({ url: `/api/audit-logs/${id}`, key: tenant.key })).text);
  }
});

test('everything wrong with an export is said at once, and nothing is begun', async () => {
  const answer = await post({
    filters: { acton: 'create', user: [], from: '2026-02-01', to: '2026-01-01' },
    format: 'xlsx',
    columns: ['id', 'nothing', 'id'],
    rows: 3,
  });
  expect(answer.status).toBe(422);
  const problems = answer.body.errors.map(({ path, code }: { path: string; code: string }) => [
    path,
    code,
  ]);
  expect(problems).toEqual(
    expect.arrayContaining([
      ['/rows', 'unknown_field'],
      ['/filters/acton', 'unknown_field'],
      ['/filters/user', 'too_few'],
      ['/filters/to', 'invalid_value'],
      ['/format', 'invalid_value'],
      ['/columns/1', 'invalid_value'],
      ['/columns', 'invalid_format'],
    ]),
  );
  const others = [{}, [], null, { filters: null, format: 'csv' }, 'csv'];
  for (const body of others) expect((await post(body)).body.code).toBe('validation_failed');
  const columns = { filters: {}, format: 'ndjson', columns: ['id'] };
  expect((await post(columns)).body.errors[0].path).toBe('/columns');
  expect(await records()).toEqual([]);
  expect((await service.call({ url, key: tenant.key })).body.data).toEqual([]);
});

test('an operator exports with a reason, which the tenant reads', async () => {
  const { id } = tenant;
  const create = (headers: Record<string, string>) =>
    service.call({ method: 'POST', url, body: csv, headers });
  expect((await create({})).status).toBe(400);
  expect((await create({ 'x-tenant-id': id })).status).toBe(403);
  const who = { 'x-access-reason': 'Ticket%2042', 'x-operator-email': 'ops@example.com' };
  expect((await create({ 'x-tenant-id': randomUUID(), ...who })).status).toBe(404);
  expect((await create({ 'x-tenant-id': id, ...who })).status).toBe(200);
  const [requested, ended] = await records();
  for (const record of [requested, ended]) {
    expect(record).toMatchObject({
      actor: { role: 'superadmin', email: 'ops@example.com' },
      crossTenant: true,
      reason: 'Ticket 42',
    });
  }
});

test('exports are listed newest first, page by page', async () => {
  const made: string[] = [];
  for (let n = 0; n < 5; n++) {
    service.clock.now += 1_000;
    made.unshift((await post(csv, { prefer: 'respond-async' })).body.id);
  }
  expect(await idsListed(service, url, tenant.key)).toEqual(made);
});
