import { tenantUuid } from '@indelible/protocol';
import { afterAll, expect, test } from 'vitest';
import { admin, Browser, viewerToken } from '../testing/browser.ts';
import { expectLogIntact } from '../testing/intact.ts';
import { eventOf, testService } from '../testing/service.ts';
import { jwtSecret, token } from '../testing/token.ts';

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
  expect((await browser.signIn({ token: link })).body.tenant.id).toBe(id);
  const jwt = await token({ role: 'superadmin', email: 'olga@operator.example' });
  const signedIn = await browser.signIn({ jwt, tenantId: name, reason: 'a look' });
  expect([signedIn.status, signedIn.body.tenant.id]).toEqual([200, id]);
});

test('a text that is no own id names no tenant', async () => {
  for (const wrong of ['%0a', '!org', '%20', encodeURIComponent('x'.repeat(201))]) {
    const { status } = await put(`/api/tenants/${wrong}`, { name: 'Wrong', plan: 'Pro' });
    expect(status, wrong).toBe(400);
  }
  const emoji = encodeURIComponent('😀'.repeat(200));
  expect((await put(`/api/tenants/${emoji}`, { name: 'Long', plan: 'Pro' })).status).toBe(201);
});
