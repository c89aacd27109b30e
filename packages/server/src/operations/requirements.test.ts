import { randomUUID } from 'node:crypto';
import { idsOf } from '@indelible/testing/answers';
import { recordingService } from '@indelible/testing/recording';
import { at } from '@indelible/testing/retention-setup';
import { eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/*
 * The user's own requirements, one test each, in the very JSON and words they were
 * given in. What is promised here never changes; everything else about the service may.
 */

const { service, tenant, goOnWith, recordBatch, read } = await recordingService();
const { clock } = service;
clock.now = Date.UTC(2026, 5, 15, 10, 30);
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const iso = (timeMs: number) => new Date(timeMs).toISOString();

const record = (body: unknown, key = tenant.key) =>
  service.call({ method: 'POST', url: '/api/audit-logs', key, body });
const list = (query = '', key = tenant.key) =>
  service.call({ url: `/api/audit-logs${query}`, key });

const admin = {
  id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
  email: 'ana@example.com',
  role: 'admin',
  ip: '203.0.113.7',
  userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)',
};
const queue = { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' };

test('an audit event has exactly the fields of the contract, under exactly these names', async () => {
  const { status, body } = await record({
    timestamp: iso(clock.now),
    tenantId: tenant.id,
    actor: admin,
    action: 'update',
    resource: queue,
    diff: { name: { from: 'Support', to: 'Support DE' }, maxWait: { from: 30, to: 60 } },
    crossTenant: false,
  });
  expect(status).toBe(201);
  const { body: event } = await read(body.id);
  expect(event).toEqual({
    id: body.id,
    timestamp: iso(clock.now),
    tenantId: tenant.id,
    actor: admin,
    action: 'update',
    resource: { ...queue, name: null },
    diff: { maxWait: { from: 30, to: 60 }, name: { from: 'Support', to: 'Support DE' } },
    crossTenant: false,
    reason: null,
    before: null,
    after: null,
    category: 'configuration',
    hasState: false,
    sequence: 2,
    receivedAt: iso(clock.now),
    recordedBy: { kind: 'api_key', id: expect.stringMatching(uuidForm) },
  });
});

test('id: begins with evt_audit_', async () => {
  expect((await record(eventOf())).body.id).toMatch(/^evt_audit_[0-9a-hjkmnp-tv-z]{26}$/);
  const { body } = await list();
  for (const { id } of body.data) expect(id).toMatch(/^evt_audit_/);
  const { status } = await record(eventOf({ id: randomUUID() }));
  expect(status).toBe(422);
});

test('timestamp: ISO 8601, UTC, in milliseconds', async () => {
  const { body } = await record(eventOf({ timestamp: '2026-01-05T09:07:03.004Z' }));
  expect(body.timestamp).toBe('2026-01-05T09:07:03.004Z');
  const now = await record(eventOf());
  expect(now.body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const wrong = await record(eventOf({ timestamp: '05.01.2026 09:07' }));
  expect([wrong.status, wrong.body.errors[0].path]).toEqual([422, '/timestamp']);
});

test('tenantId: a UUID; a tenant sees its own events and no others', async () => {
  const other = await service.tenant();
  const { body } = await record(eventOf({ tenantId: tenant.id }));
  expect(body.tenantId).toBe(tenant.id);
  expect((await record(eventOf({ tenantId: 'acme' }), platformKey)).status).toBe(422);
  expect((await record(eventOf({ tenantId: other.id }))).status).toBe(403);
  expect(
    (await list()).body.data.every((e: { tenantId: string }) => e.tenantId === tenant.id),
  ).toBe(true);
  expect(idsOf(await list('', other.key))).not.toContain(body.id);
  expect((await read(body.id, other.key)).status).toBe(404);
});

test('actor: id is a UUID, email an e-mail address, ip IPv4 or IPv6, userAgent a string', async () => {
  for (const ip of ['203.0.113.7', '2001:db8::7']) {
    const { status, body } = await record(eventOf({ actor: { ...admin, ip } }));
    expect([status, body.actor]).toEqual([201, { ...admin, ip }]);
  }
  for (const wrong of [{ email: 'ana' }, { ip: 'localhost' }]) {
    const { status, body } = await record(eventOf({ actor: { ...admin, ...wrong } }));
    const [name = '', text] = Object.entries(wrong)[0] ?? [];
    expect([status, body.actor[name], body.asSent]).toEqual([
      201,
      null,
      { [`/actor/${name}`]: text },
    ]);
  }
  expect((await record(eventOf({ actor: { ...admin, id: '42' } }))).body.actor).toMatchObject({
    id: expect.stringMatching(uuidForm),
    externalId: '42',
  });
  const { id: _, ...nameless } = { ...admin, email: null };
  for (const wrong of [{ ...admin, userAgent: 7 }, { ...admin, role: undefined }, nameless]) {
    expect((await record(eventOf({ actor: wrong }))).status).toBe(422);
  }
});

test('actor.role: admin and superadmin, the operator team', async () => {
  for (const role of ['admin', 'superadmin']) {
    const { body } = await record(eventOf({ actor: { ...admin, role }, reason: 'ticket 7' }));
    expect(body.actor.role).toBe(role);
    expect(body.warnings).toEqual([]);
  }
});

test('action: create, update, delete and access, in snake_case', async () => {
  for (const action of ['create', 'update', 'delete', 'access', 'password_changed']) {
    expect((await record(eventOf({ action }))).body.action).toBe(action);
  }
  for (const action of ['Create', 'passwordChanged', 'password-changed', '']) {
    expect((await record(eventOf({ action }))).body.errors[0].path).toBe('/action');
  }
});

test('resource: a type in snake_case and the UUID of the thing', async () => {
  const types = [
    ...['agent', 'queue', 'did', 'ivr', 'recording_policy', 'integration', 'user', 'user_role'],
    ...['tenant', 'webhook', 'api_key', 'retention', 'recording', 'transcript', 'session', 'crm'],
  ];
  for (const type of types) {
    const states = { before: { a: 1 }, after: { a: 2 } };
    const { body } = await record(eventOf({ resource: { type, id: queue.id }, ...states }));
    expect(body.resource).toEqual({ type, id: queue.id, name: null });
  }
  for (const wrong of [{ type: 'Queue' }, { id: undefined }]) {
    const { status } = await record(eventOf({ resource: { ...queue, ...wrong } }));
    expect(status).toBe(422);
  }
});

test('diff: { field: { from, to } }, exactly these two keys', async () => {
  const diff = {
    enabled: { from: false, to: true },
    name: { from: null, to: 'Support' },
    'schedule.monday.open': { from: '09:00', to: '08:30' },
  };
  expect((await record(eventOf({ diff }))).body.diff).toEqual(diff);
  for (const change of [
    { from: 1 },
    { to: 1 },
    { old: 1, new: 2 },
    { from: 1, to: 2, by: 'ana' },
    1,
  ]) {
    const { status, body } = await record(eventOf({ diff: { field: change } }));
    expect([status, body.code], JSON.stringify(change)).toEqual([422, 'validation_failed']);
  }
});

test('crossTenant: true when an operator acts in a tenant, false for the tenant itself', async () => {
  const operator = { ...admin, role: 'superadmin' };
  const own = await record(eventOf());
  const crossing = await record(eventOf({ actor: operator, reason: 'ticket 7' }));
  expect([own.body.crossTenant, crossing.body.crossTenant]).toEqual([false, true]);
  expect(crossing.body.category).toBe('cross_tenant');
  expect(idsOf(await list('?cross_tenant=true'))).toEqual([crossing.body.id]);
});

test('events are immutable: PUT, PATCH and DELETE are refused with 405', async () => {
  const { body } = await record(eventOf());
  const url = `/api/audit-logs/${body.id}`;
  const { text } = await read(body.id);
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    for (const credential of [tenant.key, platformKey]) {
      const answer = await service.call({
        method,
        url,
        key: credential,
        body: { action: 'delete' },
      });
      expect([answer.status, answer.body.code]).toEqual([405, 'method_not_allowed']);
      expect(answer.headers.allow).toBe('GET, HEAD');
    }
  }
  expect((await read(body.id)).text).toBe(text);
});

test('GET /api/audit-logs: newest first, from and to as dates, page from 1', async () => {
  const days = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04'];
  const ids = [];
  for (const day of days) {
    ids.push((await record(eventOf({ timestamp: `${day}T12:00:00.000Z` }))).body.id);
  }
  const range = '?from=2026-03-01&to=2026-03-05';
  expect(idsOf(await list(range))).toEqual([...ids].reverse());
  expect(idsOf(await list('?from=2026-03-02&to=2026-03-04'))).toEqual([ids[2], ids[1]]);
  expect(idsOf(await list(`${range}&limit=3&page=1`))).toEqual([ids[3], ids[2], ids[1]]);
  const second = await list(`${range}&limit=3&page=2`);
  expect(idsOf(second)).toEqual([ids[0]]);
  expect(second.body.pagination).toMatchObject({ limit: 3, page: 2, hasMore: false });
  expect(idsOf(await list(`${range}&limit=3&page=3`))).toEqual([]);
  expect((await list('?page=0')).body.code).toBe('invalid_parameter');
});

test('large volumes are read by cursor: every event once, and pages too deep name the cursor', async () => {
  const recorded: string[] = [];
  for (let batch = 0; batch < 3; batch++) {
    const events = Array.from({ length: 500 }, () => eventOf());
    const { body } = await recordBatch(events);
    recorded.push(...body.results.map(({ id }: { id: string }) => id));
  }
  const read: string[] = [];
  let query: string | null = '?action=update&limit=400';
  while (query !== null) {
    const answer = await list(query);
    read.push(...idsOf(answer));
    const { nextCursor, hasMore } = answer.body.pagination;
    expect(hasMore).toBe(nextCursor !== null);
    query = nextCursor && `?action=update&limit=400&cursor=${encodeURIComponent(nextCursor)}`;
  }
  expect(read).toEqual([...recorded].sort().reverse());
  const deep = await list('?limit=500&page=21');
  expect([deep.status, deep.body.code]).toEqual([400, 'page_too_deep']);
  expect(deep.body.detail).toContain('cursor');
});

test.each([
  ['dashboard page views', 'view', 'dashboard'],
  ['dashboard page views', 'access', 'dashboard'],
  ['dashboard page views', 'page_view', 'dashboard'],
  ['wallboard refreshes', 'refresh', 'wallboard'],
  ['wallboard refreshes', 'read', 'wallboard'],
  ['softphone heartbeats', 'heartbeat', 'softphone'],
  ['softphone heartbeats', 'refresh', 'softphone'],
  ['page views', 'page_view', 'page'],
])('%s are not recorded (%s of a %s)', async (_, action, type) => {
  const { status, body } = await record(eventOf({ action, resource: { type, id: queue.id } }));
  expect([status, body.code]).toEqual([422, 'not_recordable']);
  expect(body.detail).toMatch(/not (an )?audit event/);
  expect(idsOf(await list(`?resource=${type}`))).toEqual([]);
});

test('calls are not recorded: they live in the call-detail record store', async () => {
  for (const action of ['create', 'update', 'delete', 'access', 'heartbeat']) {
    const { status, body } = await record(
      eventOf({ action, resource: { type: 'call', id: queue.id } }),
    );
    expect([status, body.code]).toEqual([422, 'not_recordable']);
    expect(body.detail).toContain('call-detail record store');
  }
});

test('a change of the configuration of a dashboard is recorded', async () => {
  for (const action of ['create', 'update', 'delete']) {
    const { status } = await record(
      eventOf({ action, resource: { type: 'dashboard', id: queue.id } }),
    );
    expect(status).toBe(201);
  }
});

test('plans are exactly Starter, Pro and Enterprise', async () => {
  const put = (plan: string) =>
    service.call({ method: 'PUT', url: `/api/tenants/${randomUUID()}`, body: { name: 'A', plan } });
  for (const plan of ['Starter', 'Pro', 'Enterprise']) {
    const { status, body } = await put(plan);
    expect([status, body.plan]).toEqual([201, plan]);
  }
  for (const plan of ['starter', 'PRO', 'Business', 'Free', '']) {
    expect((await put(plan)).status, plan).toBe(422);
  }
});

const day = 86_400_000;
const yearsAgo = (years: number) => {
  const date = new Date(clock.now);
  return date.setUTCFullYear(date.getUTCFullYear() - years);
};

test.each([
  ['Starter', '30 days', () => clock.now - 30 * day],
  ['Pro', '1 year', () => yearsAgo(1)],
  ['Enterprise', '7 years', () => yearsAgo(7)],
] as const)('%s keeps events for %s, and then they leave every answer', async (plan, _, oldest) => {
  await at(service, oldest() - day, () => goOnWith(plan));
  const { status, body } = await at(service, oldest() + 5, () => record(eventOf()));
  expect(status).toBe(201);
  const outside = await record(eventOf({ timestamp: iso(oldest() - 1) }));
  expect([outside.status, outside.body.code]).toEqual([422, 'outside_retention']);
  const seen = async () => [
    idsOf(await list('?from=1970-01-01')).includes(body.id),
    (await read(body.id)).status,
  ];
  expect(await seen()).toEqual([true, 200]);
  clock.now += 5;
  expect(await seen()).toEqual([true, 200]);
  clock.now += 1;
  expect(await seen()).toEqual([false, 404]);
});
