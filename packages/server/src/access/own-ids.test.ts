import { externalUuid, tenantUuid } from '@indelible/protocol';
import { admin, Browser, viewerToken } from '@indelible/testing/browser';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { afterAll, expect, test } from 'vitest';

/* A host that has no UUIDs names tenants and people by its own ids, wherever an id stands. */

const service = await testService({ AUTH_JWT_SECRET: jwtSecret });
const name = 'org_Ñandú|1';
const id = tenantUuid(name) ?? '';
const path = `/api/tenants/${encodeURIComponent(name)}`;
const put = (url: string, body: object = {}) => service.call({ method: 'PUT', url, body });
const post = (url: string, body: object, key?: string) =>
  service.call({ method: 'POST', url, body, ...(key && { key }) });
const made = await put(path, { name: 'Acme', plan: 'Enterprise' });
const scopes = ['events:write', 'events:read', 'exports:write'];
const { key } = (await post(`${path}/api-keys`, { name: 'host', scopes })).body;
afterAll(() => expectLogIntact(service, id));

test('the own id of a tenant makes one with the derived UUID, and answers show both', async () => {
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ id, externalId: name });
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5/);
  for (const url of [path, `/api/tenants/${id}`]) {
    expect((await service.call({ url })).body).toEqual(made.body);
  }
  const { body } = await service.call({ url: '/api/tenants' });
  expect(body.data).toContainEqual(made.body);
  const keys = await service.call({ url: `${path}/api-keys` });
  expect(keys.body.data).toMatchObject([{ tenantId: id }]);
});

test('a tenant that was made by its derived UUID gets the own id by the first call that names it', async () => {
  const uuid = tenantUuid('org_later');
  const byUuid = await put(`/api/tenants/${uuid}`, { name: 'Later', plan: 'Pro' });
  expect(byUuid.body).toMatchObject({ id: uuid, externalId: null });
  const named = await put('/api/tenants/org_later');
  expect([named.status, named.body.externalId]).toEqual([200, 'org_later']);
  expect((await put(`/api/tenants/${uuid}`)).body.externalId).toBe('org_later');
});

test('an event may name its tenant by the own id, with a key of the platform or of the tenant', async () => {
  for (const credential of [undefined, key]) {
    const { status, body } = await post('/api/audit-logs', eventOf({ tenantId: name }), credential);
    expect([status, body.tenantId]).toEqual([201, id]);
  }
  const foreign = await post('/api/audit-logs', eventOf({ tenantId: 'org_2' }), key);
  expect([foreign.status, foreign.body.code]).toEqual([403, 'forbidden']);
  const unknown = await post('/api/audit-logs', eventOf({ tenantId: 'org_2' }));
  expect([unknown.status, unknown.body.code]).toEqual([422, 'unknown_tenant']);
});

test('an operator names the tenant by its own id in the header, percent-encoded', async () => {
  const read = (tenant: string) =>
    service.call({
      url: '/api/audit-logs?limit=1',
      headers: { 'x-tenant-id': tenant, 'x-access-reason': 'a look' },
    });
  const { status, body } = await read(encodeURIComponent(name));
  expect([status, body.data[0].tenantId]).toEqual([200, id]);
  for (const wrong of ['%', '%0a', '!org', encodeURIComponent('x'.repeat(201))]) {
    expect((await read(wrong)).body.code, wrong).toBe('invalid_parameter');
  }
});

test('a token may name its tenant by the own id, also by a number', async () => {
  const claims = { role: 'admin', tenantId: name };
  const list = await service.call({ url: '/api/audit-logs?limit=1', key: await token(claims) });
  expect([list.status, list.body.data[0].tenantId]).toEqual([200, id]);
  await put('/api/tenants/4711', { name: 'Numbered', plan: 'Pro' });
  const numbered = await token({ role: 'admin', tenantId: 4711 });
  const shown = await service.call({ url: '/api/tenants/4711', key: numbered });
  expect([shown.status, shown.body.externalId]).toEqual([200, '4711']);
  const none = await service.call({
    url: '/api/audit-logs',
    key: await token({ role: 'admin', tenantId: '' }),
  });
  expect(none.status).toBe(401);
});

test('a viewer link, and the sign-in of an operator, name the tenant by its own id', async () => {
  const browser = new Browser(service.app);
  const link = await viewerToken(service.app, { tenantId: name, actor: admin() });
  expect((await browser.signIn({ token: link })).body.tenant).toMatchObject({
    id,
    externalId: name,
  });
  const jwt = await token({ role: 'superadmin', email: 'olga@operator.example' });
  const signedIn = await browser.signIn({ jwt, tenantId: name, reason: 'a look' });
  expect([signedIn.status, signedIn.body.tenant.id]).toEqual([200, id]);
});

/** What the tenant's log says of a person, by the filter that takes the own id. */
async function eventsOf(user: string) {
  const url = `/api/audit-logs?user=${encodeURIComponent(user)}&sort=sequence`;
  return (await service.call({ url, key })).body.data;
}

test('a person who records, reads with a token and enters by a link is one person', async () => {
  const person = 'auth0|user_123';
  const uuid = externalUuid(id, 'actor', person);
  const actor = { externalId: person, role: 'admin' };
  expect((await post('/api/audit-logs', eventOf({ actor }), key)).status).toBe(201);
  const browser = new Browser(service.app);
  const jwt = await token({ sub: person, role: 'admin', tenantId: name });
  const signedIn = await browser.signIn({ jwt });
  expect(signedIn.body.actor).toMatchObject({ id: uuid, externalId: person });
  const link = await viewerToken(service.app, {
    tenantId: name,
    actor: { ...admin(), id: person },
  });
  expect((await browser.signIn({ token: link })).body.actor.externalId).toBe(person);
  const found = await eventsOf(person);
  const actions = found.map(({ action }: { action: string }) => action);
  expect(actions).toEqual([eventOf().action, 'login', 'login']);
  for (const event of found) expect(event.actor).toMatchObject({ id: uuid, externalId: person });
});

test('a person with an own id is named by it in exports and restores, and so is the resource', async () => {
  await put(path, { restoreUrl: 'https://host.example.com/restore' });
  const person = 'auth0|user_9';
  const jwt = await token({ sub: person, role: 'admin', tenantId: name });
  const resource = { type: 'ivr', externalId: 'menu_7' };
  const states = { diff: undefined, before: { steps: 1 }, after: { steps: 2 } };
  const event = await post('/api/audit-logs', eventOf({ resource, ...states }), key);
  const restored = await post(`/api/audit-logs/${event.body.id}/restore`, { to: 'before' }, jwt);
  expect(restored.status).toBe(202);
  const exported = await post('/api/audit-logs/exports', { format: 'ndjson' }, jwt);
  expect(exported.status).toBe(200);
  const found = await eventsOf(person);
  expect(found.map(({ action }: { action: string }) => action)).toContain('restore');
  expect(found.length).toBeGreaterThanOrEqual(2);
  for (const { actor } of found) expect(actor.externalId).toBe(person);
  const { rows } = await service.owner.query(
    'SELECT body::text FROM restores WHERE tenant_id = $1',
    [id],
  );
  expect(JSON.parse(rows[0].body)).toMatchObject({
    requestedBy: { id: externalUuid(id, 'actor', person), externalId: person },
    resource: { id: externalUuid(id, 'ivr', 'menu_7'), externalId: 'menu_7' },
  });
  const restores = async (query: string) =>
    (await service.call({ url: `/api/audit-logs/restores?${query}`, key: jwt })).body;
  expect((await restores('resource=ivr&resource_id=menu_7')).data).toMatchObject([
    { id: restored.body.id },
  ]);
  expect((await restores('resource=queue&resource_id=menu_7')).data).toEqual([]);
  expect((await restores('resource_id=menu_7')).errors).toMatchObject([{ path: 'resource_id' }]);
});

test('an operator with an own id is one person in the log of each tenant that they visit', async () => {
  await put('/api/tenants/org_visited', { name: 'Visited', plan: 'Pro' });
  const jwt = await token({ sub: 'op_1', email: 'olga@operator.example', role: 'superadmin' });
  for (const tenant of ['org_visited', name]) {
    const named = { 'x-tenant-id': encodeURIComponent(tenant), 'x-access-reason': 'own ids' };
    const look = await service.call({ url: '/api/audit-logs?limit=1', key: jwt, headers: named });
    expect(look.status).toBe(200);
  }
  const session = await new Browser(service.app).signIn({ jwt, tenantId: name, reason: 'a visit' });
  const uuid = externalUuid(id, 'actor', 'op_1');
  expect(session.body.actor).toMatchObject({ id: uuid, externalId: 'op_1' });
  const found = await eventsOf('op_1');
  expect(found.map(({ action }: { action: string }) => action)).toEqual(['access', 'login']);
  for (const event of found) expect(event.actor).toMatchObject({ id: uuid, externalId: 'op_1' });
});

test('an agent that uses the token of a person with an own id acts on their behalf', async () => {
  const claims = { sub: 'user_8', role: 'admin', tenantId: name, act: { sub: 'bot_8' } };
  const signedIn = await new Browser(service.app).signIn({ jwt: await token(claims) });
  expect(signedIn.status).toBe(200);
  const [event] = await eventsOf('bot_8');
  const uuid = externalUuid(id, 'actor', 'user_8');
  expect(event.onBehalfOf).toMatchObject([{ id: uuid, externalId: 'user_8', type: 'user' }]);
});

test('a text that is no own id names no tenant', async () => {
  for (const wrong of ['%0a', '!org', '%20', encodeURIComponent('x'.repeat(201))]) {
    const { status } = await put(`/api/tenants/${wrong}`, { name: 'Wrong', plan: 'Pro' });
    expect(status, wrong).toBe(400);
  }
  const emoji = encodeURIComponent('😀'.repeat(200));
  expect((await put(`/api/tenants/${emoji}`, { name: 'Long', plan: 'Pro' })).status).toBe(201);
});
