import { randomUUID } from 'node:crypto';
import { idsListed, pathsOf } from '@indelible/testing/answers';
import { expectLogIntact } from '@indelible/testing/intact';
import { callOn, eventOf, platformKey, serviceOn, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { expect, test } from 'vitest';
import { createSealer } from '../crypto/sealed.ts';
import { restoreSecretContext } from './put-tenant.store.ts';

const service = await testService({ AUTH_JWT_SECRET: jwtSecret });

const put = (id: string, body: unknown, more: { key?: string; reason?: string | string[] } = {}) =>
  service.call({
    method: 'PUT',
    url: `/api/tenants/${id}`,
    body,
    ...(more.key === undefined ? {} : { key: more.key }),
    ...(more.reason === undefined ? {} : { headers: { 'x-access-reason': more.reason } }),
  });
const get = (id: string, key?: string | null) =>
  service.call({ url: `/api/tenants/${id}`, ...(key === undefined ? {} : { key }) });

async function newTenant(more: Record<string, unknown> = {}): Promise<string> {
  const id = randomUUID();
  const { status } = await put(id, { name: 'Acme', plan: 'Pro', ...more });
  expect(status).toBe(201);
  return id;
}

async function newKey(tenantId: string, scopes: string[]): Promise<string> {
  const url = `/api/tenants/${tenantId}/api-keys`;
  const { body } = await service.call({ method: 'POST', url, body: { name: 'key', scopes } });
  return body.key;
}

/** What the tenant's own log says about the tenant, oldest first. */
async function recorded(id: string) {
  const { rows } = await service.owner.query(
    `SELECT action, actor_role, recorded_by_kind, resource_name, reason, before, after, diff
     FROM audit_events WHERE tenant_id = $1 AND resource_type = 'tenant' AND resource_id = $1
     ORDER BY sequence`,
    [id],
  );
  return rows;
}

test('a new tenant gets the defaults, and its creation is the first entry of its log', async () => {
  const id = randomUUID();
  const { status, body } = await put(id, { name: 'Acme', plan: 'Starter' });
  expect(status).toBe(201);
  const createdAt = new Date(service.clock.now).toISOString();
  const settings = {
    name: 'Acme',
    plan: 'Starter',
    locale: 'en',
    timeZone: 'UTC',
    notifyEmails: [],
    digest: 'none',
    restoreUrl: null,
    legalHold: false,
  };
  expect(body).toEqual({ id, externalId: null, ...settings, createdAt, updatedAt: createdAt });
  expect((await get(id)).body).toEqual(body);
  expect(await recorded(id)).toMatchObject([
    {
      action: 'create',
      actor_role: 'api_key',
      recorded_by_kind: 'service',
      resource_name: 'Acme',
      before: null,
      after: settings,
    },
  ]);
});

test('members that a change leaves out keep their value, and the log has both states', async () => {
  const given = { locale: 'pt-BR', timeZone: 'America/Sao_Paulo', notifyEmails: ['a@example.com'] };
  const id = await newTenant(given);
  service.clock.now += 1_000;
  const { status, body } = await put(id, { name: 'Acme 2' });
  expect(status).toBe(200);
  expect(body).toMatchObject({ ...given, name: 'Acme 2', plan: 'Pro' });
  expect(body.updatedAt).toBe(new Date(service.clock.now).toISOString());
  expect(body.createdAt).not.toBe(body.updatedAt);
  const [, change, ...more] = await recorded(id);
  expect(more).toEqual([]);
  expect(change).toMatchObject({ action: 'update', before: { name: 'Acme' }, reason: null });
  expect(change.after).toMatchObject({ ...given, name: 'Acme 2' });
  expect(change.diff).toEqual({ name: { from: 'Acme', to: 'Acme 2' } });
});

test('a change that changes nothing is neither recorded nor a change', async () => {
  const body = { name: 'Acme', plan: 'Pro', restoreUrl: 'https://host.example.com/restore' };
  const id = await newTenant(body);
  const before = (await get(id)).body;
  service.clock.now += 1_000;
  const again = await put(id.toUpperCase(), body);
  expect(again.status).toBe(200);
  expect(again.body).toEqual(before);
  expect((await put(id, {})).body).toEqual(before);
  expect(await recorded(id)).toHaveLength(1);
});

test('a new tenant needs a name and a plan: both are named at once', async () => {
  const { status, body } = await put(randomUUID(), { locale: 'es' });
  expect(status).toBe(422);
  expect(body.code).toBe('validation_failed');
  expect(pathsOf({ body })).toEqual(['/name', '/plan']);
});

test.each([
  ['a blank name', { name: ' \u00a0' }, '/name'],
  ['a name with a line break', { name: 'Acme\n' }, '/name'],
  ['a name with U+0000', { name: 'Ac\u0000me' }, '/name'],
  ['half a surrogate pair', { name: 'Acme \ud800' }, '/name'],
  ['a long name', { name: 'x'.repeat(201) }, '/name'],
  ['a plan in lower case', { plan: 'pro' }, '/plan'],
  ['no plan', { plan: null }, '/plan'],
  ['another locale', { locale: 'pt' }, '/locale'],
  ['an offset for a zone', { timeZone: '+02:00' }, '/timeZone'],
  ['an unknown zone', { timeZone: 'Europe/Atlantis' }, '/timeZone'],
  ['no address', { notifyEmails: ['ana'] }, '/notifyEmails/0'],
  ['an address for no mail', { notifyEmails: ['a,b@example.com'] }, '/notifyEmails/0'],
  ['a repeated address', { notifyEmails: ['a@b.c', 'a@b.c'] }, '/notifyEmails'],
  [
    '21 addresses',
    { notifyEmails: Array.from({ length: 21 }, (_, n) => `${n}@b.c`) },
    '/notifyEmails',
  ],
  ['an http URL', { restoreUrl: 'http://host.example.com/' }, '/restoreUrl'],
  ['a script URL', { restoreUrl: 'javascript:alert(1)' }, '/restoreUrl'],
  ['a password in the URL', { restoreUrl: 'https://a:b@host.example.com/' }, '/restoreUrl'],
  ['loopback as a user name', { restoreUrl: 'http://127.0.0.1@host.example.com/' }, '/restoreUrl'],
  ['a line break in the URL', { restoreUrl: 'https://host.example.com/\r\nX: y' }, '/restoreUrl'],
  ['a relative URL', { restoreUrl: '/restore' }, '/restoreUrl'],
  ['a long URL', { restoreUrl: `https://host.example.com/${'x'.repeat(2_048)}` }, '/restoreUrl'],
  ['a textual hold', { legalHold: 'true' }, '/legalHold'],
  ['an unknown field', { retention: 7 }, '/retention'],
  ['the id', { id: randomUUID() }, '/id'],
])('%s is refused, and the tenant stays as it was', async (_, change, path) => {
  const id = await newTenant();
  const { status, body } = await put(id, change);
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(pathsOf({ body })).toContain(path);
  expect((await get(id)).body).toMatchObject({ name: 'Acme', plan: 'Pro', restoreUrl: null });
});

test('a refused text is told the rule in words', async () => {
  const { body } = await put(randomUUID(), { name: 'Acme\n', plan: 'Pro' });
  expect(body.detail).toContain(
    '/name is not of this form: What people call the tenant. Not blank',
  );
});

test.each([
  ...['http://127.0.0.1:4000/r', 'http://localhost:1/', 'https://10.0.0.7/', 'https://[fd00::1]/'],
  ...['https://169.254.169.254/latest', 'https://localhost/', 'https://app.LocalHost./'],
  ...['https://printer.local/', 'https://metadata.google.internal/'],
])('a restore URL that could never be called is refused when it is set: %s', async (restoreUrl) => {
  const { status, body } = await put(randomUUID(), { name: 'Acme', plan: 'Pro', restoreUrl });
  expect([status, body.code, body.errors[0].path]).toEqual([
    422,
    'validation_failed',
    '/restoreUrl',
  ]);
});

test('with WEBHOOK_ALLOW_PRIVATE private hosts may be called, and over http', async () => {
  const { app, close } = await serviceOn(service.servingUrl, service.clock, {
    WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  for (const restoreUrl of [
    'http://127.0.0.1:4000/r',
    'http://[::1]/r',
    'http://localhost:1/',
    'http://app:8080/restore',
    'https://b.internal/',
  ]) {
    const call = { method: 'PUT', url: `/api/tenants/${randomUUID()}` } as const;
    const answer = await callOn(app, { ...call, body: { name: 'A', plan: 'Pro', restoreUrl } });
    expect([answer.status, answer.body.restoreUrl]).toEqual([201, restoreUrl]);
  }
  await close();
});

test('a change that is committed is answered with its secret, although partitions cannot be announced', async () => {
  const id = await newTenant({ restoreUrl: 'https://one.example.com/' });
  const rename = (from: string, to: string) =>
    service.owner.query(`ALTER FUNCTION ${from}() RENAME TO ${to}`);
  await rename('announce_partitions', 'away');
  const { status, body } = await put(id, { restoreUrl: 'https://two.example.com/' });
  await rename('away', 'announce_partitions');
  expect([status, body.restoreSecret]).toEqual([200, expect.stringMatching(/^whsec_/)]);
});

test('a restore secret is shown once, kept sealed, new only for another URL, never in the log', async () => {
  const id = randomUUID();
  const first = await put(id, {
    name: 'Acme',
    plan: 'Pro',
    restoreUrl: 'https://one.example.com/',
  });
  expect(first.body.restoreSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect((await get(id)).body).not.toHaveProperty('restoreSecret');
  const stored = async () => {
    const sql = 'SELECT restore_secret FROM tenants WHERE id = $1';
    return (await service.owner.query(sql, [id])).rows[0].restore_secret;
  };
  const sealer = createSealer('a session secret for tests, at least 32 bytes');
  expect(sealer.open(restoreSecretContext(id), await stored())).toBe(first.body.restoreSecret);

  const renamed = await put(id, { name: 'Acme 2', restoreUrl: 'https://one.example.com/' });
  expect([renamed.status, renamed.body.restoreSecret]).toEqual([200, undefined]);
  expect(sealer.open(restoreSecretContext(id), await stored())).toBe(first.body.restoreSecret);

  const second = await put(id, { restoreUrl: 'https://two.example.com/' });
  expect(second.body.restoreSecret).toMatch(/^whsec_/);
  expect(second.body.restoreSecret).not.toBe(first.body.restoreSecret);
  expect(sealer.open(restoreSecretContext(id), await stored())).toBe(second.body.restoreSecret);

  const removed = await put(id, { restoreUrl: null });
  expect(removed.body).toMatchObject({ restoreUrl: null });
  expect(removed.body).not.toHaveProperty('restoreSecret');
  expect(await stored()).toBeNull();
  const log = JSON.stringify(await recorded(id));
  expect(log).toContain('https://two.example.com/');
  expect(log).not.toMatch(/whsec|restoreSecret/);
});

test.each([
  ['downgrading', { plan: 'Enterprise' }, { plan: 'Starter' }],
  ['downgrading by one step', { plan: 'Pro' }, { plan: 'Starter' }],
  ['lifting a hold', { legalHold: true }, { legalHold: false }],
  ['lifting a hold while upgrading', { legalHold: true }, { legalHold: false, plan: 'Enterprise' }],
  ['downgrading under a hold', { legalHold: true }, { plan: 'Starter' }],
])('%s needs a reason, which the log keeps', async (_, settings, change) => {
  const id = await newTenant(settings);
  for (const reason of [undefined, '', '%20', 'a%0Ab', '%', 'x'.repeat(1_001)]) {
    const refused = await put(id, change, reason === undefined ? {} : { reason });
    expect([refused.status, refused.body.code]).toEqual([403, 'reason_required']);
  }
  expect((await get(id)).body).toMatchObject(settings);
  expect((await put(id, change, { reason: 'K%C3%BCndigung 4711' })).status).toBe(200);
  expect((await get(id)).body).toMatchObject(change);
  expect((await recorded(id))[1]).toMatchObject({ action: 'update', reason: 'Kündigung 4711' });
});

test('a reason sent twice is refused', async () => {
  const id = await newTenant();
  const change = { plan: 'Starter' };
  const refused = await put(id, change, { reason: ['one', 'two'] });
  expect([refused.status, refused.body.code]).toEqual([403, 'reason_required']);
});

test('upgrading and placing a hold need no reason', async () => {
  const id = await newTenant({ plan: 'Starter' });
  expect((await put(id, { plan: 'Enterprise', legalHold: true })).status).toBe(200);
});

test('new events take the class of the plan, or of the hold whatever the plan', async () => {
  const classOf = async (id: string) => {
    const sql = 'SELECT retention_class FROM log_heads WHERE tenant_id = $1';
    return (await service.owner.query(sql, [id])).rows[0].retention_class;
  };
  const id = await newTenant({ plan: 'Starter' });
  expect(await classOf(id)).toBe(0);
  await put(id, { plan: 'Pro' });
  expect(await classOf(id)).toBe(1);
  await put(id, { legalHold: true });
  expect(await classOf(id)).toBe(3);
  await put(id, { plan: 'Enterprise' });
  expect(await classOf(id)).toBe(3);
  await put(id, { legalHold: false }, { reason: 'closed' });
  expect(await classOf(id)).toBe(2);
});

test('one of many callers who create a tenant at once creates it and the others change it', async () => {
  const id = randomUUID();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const answers = await Promise.all(names.map((name) => put(id, { name, plan: 'Pro' })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 201]);
  const log = await recorded(id);
  expect(log.map(({ action }) => action)).toEqual(['create', ...Array(5).fill('update')]);
  expect(log.slice(1).map(({ before }) => before)).toEqual(
    log.slice(0, -1).map(({ after }) => after),
  );
});

test('the list shows every tenant once, page by page', async () => {
  const made = new Set(await Promise.all(Array.from({ length: 5 }, () => newTenant())));
  const seen = await idsListed(service, '/api/tenants', platformKey);
  expect(seen).toEqual([...new Set(seen)].sort());
  expect(seen.filter((id) => made.has(id))).toHaveLength(made.size);
});

test.each([
  ['limit=0', 'invalid_parameter'],
  ['limit=501', 'invalid_parameter'],
  ['limit=1e2', 'invalid_parameter'],
  ['limit=', 'invalid_parameter'],
  ['limit=5&limit=6', 'invalid_parameter'],
  ['cursor=x', 'invalid_cursor'],
  ['cursor=', 'invalid_cursor'],
  ["cursor='%20OR%201=1", 'invalid_cursor'],
  ['page=1', 'unknown_parameter'],
  ['limits=5&limit=0', 'unknown_parameter'],
  ['%00=1', 'unknown_parameter'],
])('the list refuses ?%s as %s', async (query, code) => {
  const { status, body } = await service.call({ url: `/api/tenants?${query}` });
  expect([status, body.code]).toEqual([400, code]);
});

test('an id that can be no own id is refused', async () => {
  for (const id of ['!acme', '%20', 'a%00b', 'x'.repeat(201)]) {
    expect((await get(id)).status).toBe(400);
    expect((await put(id, { name: 'x', plan: 'Pro' })).status).toBe(400);
  }
});

test('a tenant sees itself; of others not even that they exist', async () => {
  const [own, other] = [await newTenant(), await newTenant()];
  const key = await newKey(own, ['tenants:write']);
  const admin = await token({ role: 'admin', tenantId: own }, service.clock.now);
  for (const credential of [key, admin]) {
    expect((await get(own, credential)).body).toMatchObject({ id: own });
    const [existing, missing] = [await get(other, credential), await get(randomUUID(), credential)];
    expect(existing.status).toBe(404);
    const { requestId: _, ...problem } = existing.body;
    expect(missing.body).toMatchObject(problem);
  }
});

test('a tenant that only an import filled is abandoned: recorded, closed, and nothing is deleted', async () => {
  const id = await newTenant();
  const imported = (timestamp: number) => ({
    method: 'POST' as const,
    url: '/api/audit-logs',
    body: eventOf({ tenantId: id, timestamp: new Date(timestamp).toISOString() }),
  });
  const hour = 3_600_000;
  const event = await service.call(imported(service.clock.now - hour));
  expect(event.status).toBe(201);
  const abandon = (more: object = {}) =>
    service.call({ method: 'POST', url: `/api/tenants/${id}/abandon`, ...more });
  expect((await abandon()).body.code).toBe('reason_required');
  const headers = { 'x-access-reason': 'wrong ids' };
  const key = await newKey(id, ['tenants:write']);
  expect((await abandon({ headers, key })).status).toBe(403);
  const closedAt = new Date(service.clock.now).toISOString();
  expect(await abandon({ headers })).toMatchObject({ status: 200, body: { id, closedAt } });
  expect((await get(id)).body.closedAt).toBe(closedAt);
  expect((await recorded(id)).at(-1)).toMatchObject({
    action: 'update',
    actor_role: 'superadmin',
    reason: 'wrong ids',
    after: expect.objectContaining({ closedAt }),
  });
  const later = await service.call(imported(service.clock.now - hour));
  expect([later.status, later.body.code]).toEqual([422, 'unknown_tenant']);
  const url = `/api/audit-logs/${event.body.id}`;
  const kept = await service.call({ url, headers: { ...headers, 'x-tenant-id': id } });
  expect(kept.status).toBe(200);
  expect((await abandon({ headers })).body.code).toBe('conflict');
  await expectLogIntact(service, id);
});

test.each([
  ['has an event of its own time', { timestamp: new Date(service.clock.now).toISOString() }],
  ['is under legal hold', null],
])('a tenant that %s is not abandoned, and goes on', async (_, live) => {
  const id = await newTenant(live === null ? { legalHold: true } : {});
  const body = eventOf({ tenantId: id, ...live });
  const record = () => service.call({ method: 'POST', url: '/api/audit-logs', body });
  if (live !== null) await record();
  const headers = { 'x-access-reason': 'mistyped' };
  const url = `/api/tenants/${id}/abandon`;
  const refused = await service.call({ method: 'POST', url, headers });
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect((await get(id)).body).not.toHaveProperty('closedAt');
  expect((await record()).status).toBe(201);
});

test('only the platform changes and lists tenants', async () => {
  const id = await newTenant();
  const bound = await newKey(id, ['tenants:write']);
  const reader = await newKey(id, ['events:read']);
  const admin = await token({ role: 'admin', tenantId: id }, service.clock.now);
  const operator = await token({ role: 'superadmin' }, service.clock.now);
  for (const key of [bound, reader, admin, operator]) {
    expect((await put(id, { name: 'mine' }, { key })).body.code).toBe('forbidden');
    expect((await put(randomUUID(), { name: 'x', plan: 'Pro' }, { key })).status).toBe(403);
    expect((await service.call({ url: '/api/tenants', key })).status).toBe(403);
  }
  expect((await get(id)).body.name).toBe('Acme');
  for (const key of [reader, operator]) expect((await get(id, key)).status).toBe(403);
});
