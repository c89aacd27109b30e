import { randomUUID } from 'node:crypto';
import { admin, Browser, viewerToken } from '@indelible/testing/browser';
import { recordAll } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';

/* An operator with a platform key tries every way around the record of an operator's access. */

let tenant: { id: string; key: string };
/** Platform-bound, as a host product has one. */
let hostKey: { id: string; key: string };

const service = await testService();
tenant = await service.tenant();
await recordAll(service, tenant.key, [eventOf()]);
const scopes = ['viewer-links:write', 'events:read', 'exports:write'];
hostKey = await makeKey('/api/api-keys', scopes, platformKey);
afterAll(() => expectLogIntact(service, tenant.id));

async function makeKey(url: string, scopes: string[], key: string, headers = {}) {
  const body = { name: 'a key', scopes };
  const made = await service.call({ method: 'POST', url, key, headers, body });
  expect(made.status).toBe(201);
  return made.body;
}

/** What the tenant's log holds under this filter, oldest first, with states. */
async function logged(filter: string) {
  const url = `/api/audit-logs?${filter}&sort=sequence&limit=500`;
  const { body } = await service.call({ url, key: tenant.key });
  const whole = [];
  for (const { id } of body.data) {
    whole.push((await service.call({ url: `/api/audit-logs/${id}`, key: tenant.key })).body);
  }
  return whole;
}

const declared = {
  'x-access-reason': 'Ticket%204711',
  'x-operator-email': 'olga@operator.example',
};
const keysUrl = () => `/api/tenants/${tenant.id}/api-keys`;

test('a key that the platform makes and revokes is an operator’s act, and marks what it records', async () => {
  const minted = await makeKey(keysUrl(), ['exports:write'], platformKey, declared);
  const body = { filters: {}, format: 'csv' };
  const taken = { method: 'POST', url: '/api/audit-logs/exports', key: minted.key, body } as const;
  expect((await service.call(taken)).status).toBe(200);
  const revoked = { method: 'DELETE', url: `${keysUrl()}/${minted.id}` } as const;
  expect((await service.call({ ...revoked, headers: declared })).status).toBe(204);

  const acts = (await logged('resource=api_key&cross_tenant=true')).slice(-2);
  const actor = { role: 'superadmin', email: 'olga@operator.example' };
  const seen = { actor, reason: 'Ticket 4711', resource: { id: minted.id } };
  expect(acts).toMatchObject([
    { ...seen, action: 'create' },
    { ...seen, action: 'delete' },
  ]);
  const madeBy = { kind: 'platform', id: acts[0].actor.id };
  expect([acts[0].after.madeBy, acts[1].before.madeBy]).toEqual([madeBy, madeBy]);
  const exported = await logged(`resource=export&user=${minted.id}`);
  expect(exported.map(({ after }) => after.keyMadeBy)).toEqual([madeBy, madeBy]);
  const { body: keys } = await service.call({ url: keysUrl() });
  expect(keys.data.at(-1).madeBy).toEqual(madeBy);
});

test('a key that the tenant’s own key makes is no operator’s act', async () => {
  const administering = ['tenants:write', 'events:read'];
  const own = await makeKey(keysUrl(), administering, platformKey);
  const made = await makeKey(keysUrl(), ['events:read'], own.key);
  const [act] = (await logged('resource=api_key')).slice(-1);
  const platform = { kind: 'platform', id: own.madeBy.id };
  expect(act).toMatchObject({ actor: { id: own.id, role: 'api_key' }, crossTenant: false });
  expect(act.after).toMatchObject({ madeBy: { kind: 'tenant', id: own.id }, keyMadeBy: platform });
  expect(made.madeBy).toEqual({ kind: 'tenant', id: own.id });
});

test('the keys of a new tenant are no operator’s act until there is an event to look at', async () => {
  const { id, key } = await service.tenant();
  const url = '/api/audit-logs?resource=api_key&sort=sequence';
  const crossings = async () => {
    const { body } = await service.call({ url, key });
    return body.data.map(({ crossTenant }: { crossTenant: boolean }) => crossTenant);
  };
  await makeKey(`/api/tenants/${id}/api-keys`, ['events:read'], platformKey);
  await recordAll(service, key, [eventOf()]);
  await makeKey(`/api/tenants/${id}/api-keys`, ['events:read'], platformKey);
  expect(await crossings()).toEqual([false, false, true]);
});

test.each([
  [{ legalHold: true }, {}, null],
  [{ notifyEmails: ['ops@example.com'] }, declared, 'Ticket 4711'],
  [{ restoreUrl: 'https://restore.example.com/' }, {}, null],
  [{ legalHold: false, plan: 'Starter' }, declared, 'Ticket 4711'],
  [{ plan: 'Enterprise' }, {}, null],
])('a change by the platform is an operator’s act: %j', async (body, headers, reason) => {
  const url = `/api/tenants/${tenant.id}`;
  expect((await service.call({ method: 'PUT', url, headers, body })).status).toBe(200);
  const [act] = (await logged('resource=tenant&cross_tenant=true')).slice(-1);
  expect(act).toMatchObject({
    action: 'update',
    actor: { role: 'superadmin' },
    reason,
    after: body,
  });
});

test('a link in an admin’s name is one record of who made it; what is done by it says so', async () => {
  const person = admin();
  const before = (await logged('resource=viewer_link')).length;
  const link = { tenantId: tenant.id, actor: person };
  const call = { method: 'POST', url: '/api/viewer-links', key: hostKey.key, body: link } as const;
  const made = await service.call(call);
  const openedBy = { kind: 'platform', id: hostKey.id };
  const links = (await logged('resource=viewer_link')).slice(before);
  // The host vouches for its own users all day: told apart from an operator's look.
  expect(links).toMatchObject([
    {
      actor: { id: hostKey.id, role: 'api_key' },
      crossTenant: false,
      action: 'create',
      after: { outcome: 'made', openedFor: { id: person.id, role: 'admin' }, openedBy },
    },
  ]);

  const visitor = new Browser(service.app);
  const session = await visitor.signIn({ token: new URL(made.body.url).hash.slice(1) });
  expect(session.body.openedBy).toEqual(openedBy);
  expect((await visitor.call({ url: '/api/session' })).body.openedBy).toEqual(openedBy);
  const body = { filters: {}, format: 'csv' };
  await visitor.call({ method: 'POST', url: '/api/audit-logs/exports', body });
  const acts = await logged(`user=${person.id}`);
  expect(acts.map(({ action, after }) => [action, after.openedBy])).toEqual([
    ['login', openedBy],
    ['access', openedBy],
    ['export', openedBy],
  ]);
});

test('a link for an operator is an operator’s act, and so is what is read by it', async () => {
  const olga = { id: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };
  const input = { tenantId: tenant.id, actor: olga, reason: 'Ticket 4711' };
  const visitor = new Browser(service.app);
  await visitor.signIn({ token: await viewerToken(service.app, input) });
  await visitor.call({ url: '/api/audit-logs' });
  const acts = (await logged('cross_tenant=true')).slice(-3);
  expect(acts.map(({ action, reason }) => [action, reason])).toEqual([
    ['create', 'Ticket 4711'],
    ['login', 'Ticket 4711'],
    ['access', 'Ticket 4711'],
  ]);
  expect(acts[2].after).toMatchObject({ openedBy: { kind: 'platform' } });
});

test('a link hands on no scope that its maker lacks', async () => {
  const scopesOf = async (key: string) => {
    const body = { tenantId: tenant.id, actor: admin() };
    const made = await service.call({ method: 'POST', url: '/api/viewer-links', key, body });
    const visitor = new Browser(service.app);
    const session = await visitor.signIn({ token: new URL(made.body.url).hash.slice(1) });
    return { visitor, scopes: session.body.scopes };
  };
  const links = await makeKey(keysUrl(), ['viewer-links:write'], platformKey);
  const nothing = await scopesOf(links.key);
  expect(nothing.scopes).toEqual([]);
  for (const url of ['/api/audit-logs', `/api/tenants/${tenant.id}`, keysUrl(), '/api/sessions']) {
    expect((await nothing.visitor.call({ url })).status, url).toBe(403);
  }
  expect((await scopesOf(hostKey.key)).scopes).toEqual(['events:read', 'exports:write']);
  const persons = [
    'events:read',
    'exports:write',
    'restore:write',
    'webhooks:write',
    'alerts:write',
  ];
  expect((await scopesOf(platformKey)).scopes).toEqual(persons);
});
