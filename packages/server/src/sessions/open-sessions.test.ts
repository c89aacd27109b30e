import { randomUUID } from 'node:crypto';
import { admin, Browser, viewerToken } from '@indelible/testing/browser';
import { expectLogIntact } from '@indelible/testing/intact';
import { platformKey, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { afterAll, beforeEach, expect, test } from 'vitest';

const minute = 60_000;

let tenant: { id: string; key: string };
let other: { id: string; key: string };

const service = await testService({ AUTH_JWT_SECRET: jwtSecret });
beforeEach(async () => {
  [tenant, other] = [await service.tenant(), await service.tenant()];
});
afterAll(() => expectLogIntact(service, tenant.id));

async function byLink(actor = admin(), of = tenant) {
  service.clock.now += 1; // sessions of one millisecond have no order
  const visitor = new Browser(service.app);
  const input = { tenantId: of.id, actor, reason: 'Ticket 4711' };
  await visitor.signIn({ token: await viewerToken(service.app, input) });
  return visitor;
}

async function byToken(livesMs: number) {
  const exp = Math.floor((service.clock.now + livesMs) / 1_000);
  const jwt = await token({ role: 'admin', tenantId: tenant.id, exp });
  const visitor = new Browser(service.app);
  return { visitor, jwt, exp, session: (await visitor.signIn({ jwt })).body };
}

const url = '/api/sessions';
const list = async (visitor: Browser) => (await visitor.call({ url })).body.data;
const end = (visitor: Browser, id: string) =>
  visitor.call({ method: 'DELETE', url: `${url}/${id}` });
const isIn = async (visitor: Browser) =>
  (await visitor.call({ url: '/api/session' })).status === 200;

test('a session ends when the token ends that opened it', async () => {
  const { visitor, session, exp } = await byToken(2 * minute);
  const ends = new Date(exp * 1_000).toISOString();
  expect([session.idleExpiresAt, session.expiresAt]).toEqual([ends, ends]);
  service.clock.now += minute;
  expect(await isIn(visitor)).toBe(true);
  service.clock.now += minute;
  expect(await isIn(visitor)).toBe(false);
});

test('an admin sees who is signed in, how and by whose link, and ends a session at once', async () => {
  const ana = await byLink();
  const olga = { id: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };
  service.clock.now += 1;
  const operator = await byLink(olga);
  await byLink(admin(), other);
  const [visit, own, ...more] = await list(ana);
  const openedBy = { kind: 'platform', id: expect.any(String) };
  const shown = { actor: olga, crossTenant: true, reason: 'Ticket 4711', openedBy, isOwn: false };
  expect(visit).toMatchObject(shown);
  expect(own).toMatchObject({ crossTenant: false, reason: null, openedBy, isOwn: true });
  expect(more).toEqual([]);

  expect((await end(ana, visit.id)).status).toBe(204);
  expect([await isIn(operator), await isIn(ana)]).toEqual([false, true]);
  expect((await end(ana, visit.id)).status).toBe(404);
  const events = `/api/audit-logs?action=session_forced`;
  const { body } = await service.call({ url: events, key: tenant.key });
  const event = await service.call({ url: `/api/audit-logs/${body.data[0].id}`, key: tenant.key });
  expect(event.body).toMatchObject({
    actor: { id: own.actor.id },
    category: 'security',
    resource: { type: 'session' },
    after: { of: { id: olga.id, role: 'superadmin' }, openedBy },
  });
});

/** A key of the tenant that makes links. */
async function linkKey(more = {}) {
  const keys = `/api/tenants/${tenant.id}/api-keys`;
  const wanted = { name: 'Host', scopes: ['events:read', 'viewer-links:write'], ...more };
  const made = await service.call({ method: 'POST', url: keys, body: wanted });
  const link = async () => {
    const body = { tenantId: tenant.id, actor: admin() };
    const call = { method: 'POST', url: '/api/viewer-links', key: made.body.key, body } as const;
    return { token: new URL((await service.call(call)).body.url).hash.slice(1) };
  };
  return { link, revoke: () => service.call({ method: 'DELETE', url: `${keys}/${made.body.id}` }) };
}

test('a revoked key ends the sessions of its links, and its unspent links', async () => {
  const others = await byLink();
  const { link, revoke } = await linkKey();
  const visitor = new Browser(service.app);
  expect((await visitor.signIn(await link())).status).toBe(200);
  const [, unspent] = [await isIn(visitor), await link()];
  expect(await list(others)).toHaveLength(2);
  await revoke();
  expect([await isIn(visitor), await isIn(others)]).toEqual([false, true]);
  expect((await new Browser(service.app).signIn(unspent)).status).toBe(401);
  expect(await list(others)).toHaveLength(1);
});

test('so does a key that expires, and its sessions say when they end', async () => {
  const others = await byLink();
  const expiresAt = new Date(service.clock.now + 4 * minute).toISOString();
  const { link } = await linkKey({ expiresAt });
  const visitor = new Browser(service.app);
  const session = (await visitor.signIn(await link())).body;
  expect([session.idleExpiresAt, session.expiresAt]).toEqual([expiresAt, expiresAt]);
  const unspent = await link();
  service.clock.now += 4 * minute - 1;
  expect(await isIn(visitor)).toBe(true);
  service.clock.now += 1;
  expect([await isIn(visitor), await isIn(others)]).toEqual([false, true]);
  expect((await new Browser(service.app).signIn(unspent)).status).toBe(401);
});

test('no caller sees or ends a session of another tenant; operators and readers manage none', async () => {
  const ana = await byLink();
  const bo = await byLink(admin(), other);
  const [theirs] = await list(bo);
  expect((await end(ana, theirs.id)).status).toBe(404);
  expect(await isIn(bo)).toBe(true);
  const operator = await byLink({
    id: randomUUID(),
    email: 'o@operator.example',
    role: 'superadmin',
  });
  expect((await operator.call({ url })).status).toBe(403);
  expect((await end(operator, theirs.id)).status).toBe(403);
  expect((await service.call({ url, key: tenant.key })).status).toBe(403);
  expect((await service.call({ url, key: null })).status).toBe(401);
  expect((await end(ana, 'nonsense')).status).toBe(404);
});

test('the platform lists sessions as an operator: with a reason, in the log of the tenant', async () => {
  await byLink();
  const headers = { 'x-tenant-id': tenant.id };
  expect((await service.call({ url, key: platformKey, headers })).status).toBe(403);
  const declared = { ...headers, 'x-access-reason': 'Ticket' };
  const { body } = await service.call({ url, key: platformKey, headers: declared });
  expect(body.data).toHaveLength(1);
  const events = '/api/audit-logs?cross_tenant=true&action=access';
  const answer = await service.call({ url: events, key: tenant.key });
  expect(answer.body.data[0]).toMatchObject({ reason: 'Ticket' });
});

test('only the writer sees sessions, and it cannot turn one into another', async () => {
  const attempt = async (pool: 'reader' | 'writer', sql: string) =>
    service.db[pool].query(sql).then(
      () => 'done',
      ({ code }: { code?: string }) => code,
    );
  for (const table of ['sessions', 'viewer_links']) {
    expect(await attempt('reader', `SELECT FROM ${table}`)).toBe('42501');
    for (const column of ['token_hash', 'tenant_id', 'actor_role', 'expires_at', 'reason']) {
      const sql = `UPDATE ${table} SET ${column} = ${column}`;
      expect(await attempt('writer', sql), sql).toBe('42501');
    }
  }
  expect(await attempt('reader', 'SELECT forget_expired_sign_ins(now())')).toBe('42501');
  // An operator's session without a reason cannot even be stored.
  const row = `'\\x${'00'.repeat(32)}', '${randomUUID()}', '${tenant.id}', '${randomUUID()}', NULL`;
  const sql = `INSERT INTO sessions VALUES (${row}, 'superadmin', NULL, 'jwt', now(), now())`;
  expect(await attempt('writer', sql)).toBe('23514');
});
