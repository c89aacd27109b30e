import { randomUUID } from 'node:crypto';
import { idsListed, pathsOf } from '@indelible/testing/answers';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const service = await testService();

const platform = '/api/api-keys';
const keysOf = (tenantId: string) => `/api/tenants/${tenantId}/api-keys`;

const post = (url: string, body: unknown, key?: string | null) =>
  service.call({ method: 'POST', url, body, ...(key === undefined ? {} : { key }) });
const remove = (url: string, id: string, key?: string | null) =>
  service.call({ method: 'DELETE', url: `${url}/${id}`, ...(key === undefined ? {} : { key }) });
const list = (url: string, key?: string | null) =>
  service.call({ url, ...(key === undefined ? {} : { key }) });

/** Makes a key as the platform; it must work. */
async function make(url: string, scopes: string[], more: Record<string, unknown> = {}) {
  const { status, body } = await post(url, { name: 'a key', scopes, ...more });
  expect(status).toBe(201);
  return body as { id: string; key: string };
}

const canRead = async (key: string) => (await service.call({ url: '/api/audit-logs', key })).status;
const canRecord = async (key: string) =>
  (await service.call({ method: 'POST', url: '/api/audit-logs', key, body: eventOf() })).status;

async function recorded(tenantId: string) {
  const { rows } = await service.owner.query(
    `SELECT action, actor_role, recorded_by_kind, resource_name, before, after
     FROM audit_events WHERE tenant_id = $1 AND resource_type = 'api_key' ORDER BY sequence`,
    [tenantId],
  );
  return rows;
}

test('a new key works at once, for its tenant and its scopes only', async () => {
  const tenant = await service.tenant();
  const { status, body } = await post(keysOf(tenant.id), { name: 'CI', scopes: ['events:read'] });
  expect(status).toBe(201);
  const createdAt = new Date(service.clock.now).toISOString();
  const shown = {
    name: 'CI',
    scopes: ['events:read'],
    createdAt,
    expiresAt: null,
    tenantId: tenant.id,
    madeBy: { kind: 'platform', id: expect.any(String) },
    allowedIps: null,
    lastUsedAt: null,
  };
  expect(body).toEqual({
    ...shown,
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    key: expect.any(String),
  });
  expect(body.key).toMatch(/^idl_[0-9a-z]{26}_[\w-]{43}$/);
  expect(await canRead(body.key)).toBe(200);
  expect(await canRecord(body.key)).toBe(403);
});

test('events of a key name it by the id that its making gave', async () => {
  const tenant = await service.tenant();
  const { id, key } = await make(keysOf(tenant.id), ['events:write']);
  const url = '/api/audit-logs';
  const { body } = await service.call({ method: 'POST', url, key, body: eventOf() });
  expect(body.recordedBy).toEqual({ kind: 'api_key', id });
});

test('the key itself is shown once and stored nowhere', async () => {
  const tenant = await service.tenant();
  const { id, key } = await make(keysOf(tenant.id), ['events:read']);
  const { body } = await list(keysOf(tenant.id));
  expect(body.data).toContainEqual(expect.objectContaining({ id, revokedAt: null }));
  const secret = key.slice(31);
  expect(JSON.stringify(body)).not.toContain(secret);
  const { rows } = await service.owner.query(
    'SELECT k::text FROM api_keys k UNION ALL SELECT e::text FROM audit_events e',
  );
  expect(rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(rows)).not.toContain(secret);
  expect(JSON.stringify(rows)).not.toContain(Buffer.from(secret).toString('hex'));
});

test("making and revoking a key is in its tenant's log, without the key", async () => {
  const tenant = await service.tenant();
  const expiresAt = new Date(service.clock.now + 60_000).toISOString();
  const { id } = await make(keysOf(tenant.id), ['events:read'], { name: 'CI', expiresAt });
  await remove(keysOf(tenant.id), id);
  await remove(keysOf(tenant.id), id);
  const madeBy = { kind: 'platform', id: expect.any(String) };
  const state = { name: 'CI', scopes: ['events:read'], expiresAt, allowedIps: null, madeBy };
  const common = { actor_role: 'api_key', recorded_by_kind: 'service', resource_name: 'CI' };
  const [, ...log] = await recorded(tenant.id);
  expect(log).toEqual([
    { ...common, action: 'create', before: null, after: state },
    { ...common, action: 'delete', before: state, after: null },
  ]);
});

test("a platform-bound key is in no tenant's log", async () => {
  const count = async () => (await service.owner.query('SELECT count(*) FROM audit_events')).rows;
  const before = await count();
  const { id } = await make(platform, ['tenants:write']);
  expect((await remove(platform, id)).status).toBe(204);
  expect(await count()).toEqual(before);
});

test('a revoked key is refused at once, for reading and for recording', async () => {
  const tenant = await service.tenant();
  const { id, key } = await make(keysOf(tenant.id), ['events:read', 'events:write']);
  expect([await canRead(key), await canRecord(key)]).toEqual([200, 201]);
  const revoked = await remove(keysOf(tenant.id), id.toUpperCase());
  expect([revoked.status, revoked.text]).toEqual([204, '']);
  expect([await canRead(key), await canRecord(key)]).toEqual([401, 401]);
  expect((await remove(keysOf(tenant.id), id)).status).toBe(204);
  const { body } = await list(keysOf(tenant.id));
  const revokedAt = new Date(service.clock.now).toISOString();
  expect(body.data).toContainEqual(expect.objectContaining({ id, revokedAt }));
});

test('a key expires at its moment', async () => {
  const tenant = await service.tenant();
  const expiresAt = new Date(service.clock.now + 60_000).toISOString();
  const { key } = await make(keysOf(tenant.id), ['events:read', 'events:write'], { expiresAt });
  expect([await canRead(key), await canRecord(key)]).toEqual([200, 201]);
  service.clock.now += 60_000;
  expect([await canRead(key), await canRecord(key)]).toEqual([401, 401]);
});

test("an unknown id, a malformed one and another tenant's existing key get the same 404", async () => {
  const [own, other] = [await service.tenant(), await service.tenant()];
  const existing = await make(keysOf(other.id), ['events:read']);
  const ofPlatform = await make(platform, ['tenants:write']);
  const caller = await make(keysOf(own.id), ['tenants:write']);
  const details = new Set();
  for (const id of [existing.id, ofPlatform.id, randomUUID(), 'key_x', "'%20OR%201=1"]) {
    for (const key of [undefined, caller.key]) {
      const { status, body } = await remove(keysOf(own.id), id, key);
      expect([status, body.code]).toEqual([404, 'not_found']);
      details.add(body.detail);
    }
  }
  expect(details.size).toBe(1);
  expect((await remove(platform, existing.id)).status).toBe(404);
  expect(await canRead(existing.key)).toBe(200);
});

test('keys of an unknown tenant can be neither made nor listed', async () => {
  const url = keysOf(randomUUID());
  expect((await post(url, { name: 'x', scopes: ['events:read'] })).status).toBe(404);
  expect((await list(url)).status).toBe(404);
  expect((await list('/api/tenants/acme/api-keys')).body.code).toBe('not_found');
});

test('a tenant-bound credential manages the keys of its own tenant only', async () => {
  const [own, other] = [await service.tenant(), await service.tenant()];
  const { key } = await make(keysOf(own.id), ['tenants:write', 'events:read']);
  const made = await post(
    keysOf(own.id.toUpperCase()),
    { name: 'x', scopes: ['events:read'] },
    key,
  );
  expect([made.status, made.body.tenantId]).toEqual([201, own.id]);
  expect(await canRead(made.body.key)).toBe(200);
  expect((await remove(keysOf(own.id), made.body.id, key)).status).toBe(204);
  const theirs = await make(keysOf(other.id), ['events:read']);
  for (const url of [keysOf(other.id), keysOf(randomUUID()), platform]) {
    const answers = [
      await post(url, { name: 'x', scopes: ['events:read'] }, key),
      await list(url, key),
      await remove(url, theirs.id, key),
    ];
    expect(answers.map(({ body }) => body.code)).toEqual(['forbidden', 'forbidden', 'forbidden']);
  }
  expect(await canRead(theirs.key)).toBe(200);
});

test('a caller cannot grant a scope that its own credential does not hold', async () => {
  const tenant = await service.tenant();
  const tenantAdmin = await make(keysOf(tenant.id), ['tenants:write', 'events:read']);
  const platformAdmin = await make(platform, ['tenants:write']);
  const attempts: [string, string, string[]][] = [
    [tenantAdmin.key, keysOf(tenant.id), ['events:write']],
    [tenantAdmin.key, keysOf(tenant.id), ['events:read', 'viewer-links:write']],
    [tenantAdmin.key, keysOf(tenant.id), ['tenants:write']],
    [platformAdmin.key, keysOf(tenant.id), ['events:read']],
    [platformAdmin.key, platform, ['tenants:write', 'events:read']],
  ];
  for (const [key, url, scopes] of attempts) {
    const { status, body } = await post(url, { name: 'x', scopes }, key);
    expect([status, body.code], `${url} ${scopes}`).toEqual([403, 'forbidden']);
  }
  const handedOn = await post(
    platform,
    { name: 'x', scopes: ['tenants:write'] },
    platformAdmin.key,
  );
  expect(handedOn.status).toBe(201);
});

test.each([
  ['no name', { name: undefined }, '/name'],
  ['a blank name', { name: '\t' }, '/name'],
  ['no scopes', { scopes: [] }, '/scopes'],
  ['an unknown scope', { scopes: ['events:delete'] }, '/scopes/0'],
  ['a repeated scope', { scopes: ['events:read', 'events:read'] }, '/scopes'],
  ['a textual scope', { scopes: 'events:read' }, '/scopes'],
  ['no moment', { expiresAt: 'tomorrow' }, '/expiresAt'],
  ['a moment in the past', { expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
  ['an unknown field', { tenantId: randomUUID() }, '/tenantId'],
])('%s is refused', async (_, change, path) => {
  const { status, body } = await post(platform, { name: 'x', scopes: ['events:read'], ...change });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(pathsOf({ body })).toContain(path);
});

test('the list shows every key of its owner once, oldest first, page by page', async () => {
  const tenant = await service.tenant();
  const made: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    service.clock.now += 1;
    made.push((await make(keysOf(tenant.id), ['events:read'])).id);
  }
  const seen = await idsListed(service, keysOf(tenant.id), platformKey);
  expect(seen.slice(1)).toEqual(made); // the first is the key that the tenant began with
  const ofPlatform = (await list(`${platform}?limit=500`)).body.data;
  expect(ofPlatform.every(({ tenantId }: { tenantId: null }) => tenantId === null)).toBe(true);
});

test('a key that is bound to networks is used from there alone, and tells when it was', async () => {
  const tenant = await service.tenant();
  const networks = { allowedIps: ['192.0.2.0/24', '2001:db8::7', '::ffff:198.51.100.0/120'] };
  const { id, key } = await make(keysOf(tenant.id), ['events:read', 'events:write'], networks);
  const shown = async () => {
    const { body } = await list(keysOf(tenant.id));
    return body.data.find((each: { id: string }) => each.id === id);
  };
  expect(await shown()).toMatchObject({ ...networks, lastUsedAt: null });
  const from = async (remoteAddress: string, method: 'GET' | 'POST' = 'GET') => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const call = { method, url: '/api/audit-logs', headers, remoteAddress };
    const payload = method === 'POST' ? { payload: JSON.stringify(eventOf()) } : {};
    return (await service.app.http.inject({ ...call, ...payload })).statusCode;
  };
  expect([await from('192.0.3.1'), await from('192.0.3.1', 'POST'), await from('::1')]).toEqual([
    403, 403, 403,
  ]);
  expect(await from('198.51.101.9')).toBe(403);
  expect((await shown()).lastUsedAt).toBe(null);
  const at = new Date(service.clock.now).toISOString();
  for (const address of ['192.0.2.9', '::ffff:192.0.2.9', '2001:db8::7', '198.51.100.9']) {
    expect([await from(address), await from(address, 'POST')]).toEqual([200, 201]);
  }
  service.clock.now += 60_000;
  await from('192.0.2.9');
  expect((await shown()).lastUsedAt).toBe(at);
});

test.each([
  ...['192.0.2.0/33', '192.0.2', 'example.com', '10.0.0.0/', '1.2.3.4/8/8', 'fe80::1%eth0'],
  '::ffff:192.0.2.0/24', // a length of IPv4 behind a prefix of IPv6
])('%s is no network that a key can be bound to', async (network) => {
  const tenant = await service.tenant();
  const body = { name: 'CI', scopes: ['events:read'], allowedIps: [network] };
  expect((await post(keysOf(tenant.id), body)).body.errors[0].path).toBe('/allowedIps/0');
});
