import { randomUUID } from 'node:crypto';
import { codeOf, pathsOf } from '@indelible/testing/answers';
import { actorOf, ana, eraseNow, recordEach } from '@indelible/testing/erasure-setup';
import { expectLogIntact } from '@indelible/testing/intact';
import { type CallOptions, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { beforeEach, expect, test } from 'vitest';

let tenant: { id: string; key: string };
const service = await testService({
  AUTH_JWT_SECRET: jwtSecret,
  PUBLIC_URL: 'https://a.example.com',
  METRICS_TOKEN: 'a-token',
});
beforeEach(async () => {
  tenant = await service.tenant();
});

/** An admin of the tenant, and the id of that person. */
async function admin(email: string, sub = randomUUID()) {
  const claims = { sub, email, role: 'admin', tenantId: tenant.id };
  return { id: sub, key: await token(claims, service.clock.now) };
}

const night = { name: 'At night', filters: { action: '!login', user: 'Ana@example.com' } };

const send = (method: CallOptions['method'], url: string, key: string, body?: unknown) =>
  service.call({ method: method ?? 'GET', url, key, body });

async function made(key: string, changes: object = {}) {
  const answer = await send('POST', '/api/views', key, { ...night, shared: false, ...changes });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

const one = (view: { id: string }) => `/api/views/${view.id}`;

async function namesSeen(key: string): Promise<string[]> {
  const { body } = await send('GET', '/api/views', key);
  return body.data.map(({ name }: { name: string }) => name);
}

/** The records of views in the tenant's log. */
async function recorded() {
  const { body } = await service.call({
    url: '/api/audit-logs?resource=view&order=asc',
    key: tenant.key,
  });
  return body.data;
}

test('a view is its filter in canonical form, and has a page of its own', async () => {
  const person = await admin('ana@example.com', ana);
  const view = await made(person.key, { last: '7d', columns: ['action', 'actor.ip'] });
  expect(view).toMatchObject({
    url: `https://a.example.com/settings/audit/views/${view.id}`,
    filters: { user: ['ana@example.com'], action: ['!login'] },
    name: 'At night',
    last: '7d',
    columns: ['action', 'actor.ip'],
    shared: false,
    createdBy: { id: ana, email: 'ana@example.com' },
  });
  expect((await send('GET', one(view), person.key)).body).toEqual(view);
  service.clock.now += 1_000;
  const change = { ...night, name: 'By night', shared: false };
  const changed = await send('PUT', one(view), person.key, change);
  expect(changed.body).toMatchObject({ name: 'By night', last: null, columns: null });
  expect(changed.body.updatedAt > view.updatedAt).toBe(true);
  expect((await send('DELETE', one(view), person.key)).status).toBe(204);
  expect((await send('GET', one(view), person.key)).status).toBe(404);
});

test('evidence is made of a view, and a view of evidence, without changing a filter', async () => {
  const view = await made(tenant.key);
  const searches = '/api/audit-logs/searches';
  const asked = { filters: view.filters, unknown: true };
  const { body: kept } = await send('POST', searches, tenant.key, asked);
  expect(kept.filters).toMatchObject(view.filters);
  const again = await made(tenant.key, { filters: kept.filters });
  expect(again.filters).toEqual(kept.filters);
});

test('a personal view is of one person: for others it does not exist, and no log tells of it', async () => {
  const [bo, cy] = [await admin('bo@example.com'), await admin('cy@example.com')];
  const view = await made(bo.key);
  expect(await namesSeen(bo.key)).toEqual(['At night']);
  expect(await namesSeen(cy.key)).toEqual([]);
  const body = { ...night, shared: true };
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    const sent = method === 'PUT' ? body : undefined;
    expect((await send(method, one(view), cy.key, sent)).status).toBe(404);
  }
  expect(await namesSeen(bo.key)).toEqual(['At night']);
  expect(await recorded()).toEqual([]);
});

test('a shared view is of the tenant: each change of it is recorded, and only its maker hides it', async () => {
  const [bo, cy] = [await admin('bo@example.com'), await admin('cy@example.com')];
  const view = await made(bo.key);
  const put = (key: string, changes: object) =>
    send('PUT', one(view), key, { ...night, shared: true, ...changes });
  await put(bo.key, {});
  expect(await namesSeen(cy.key)).toEqual(['At night']);
  await put(cy.key, { name: 'Late' });
  await put(cy.key, { name: 'Late' }); // changes nothing
  const hidden = await put(cy.key, { name: 'Late', shared: false });
  expect(codeOf(hidden)).toEqual([403, 'forbidden']);
  await put(bo.key, { name: 'Late', shared: false });
  await put(bo.key, { name: 'Late' });
  await send('DELETE', one(view), cy.key);
  const told = (await recorded()).map(
    ({ action, actor, category, resource }: Record<string, Record<string, string>>) =>
      [action, actor?.email, category, resource?.name].join(' '),
  );
  expect(told).toEqual([
    'create bo@example.com configuration At night',
    'update cy@example.com configuration Late',
    'delete bo@example.com configuration Late',
    'create bo@example.com configuration Late',
    'delete cy@example.com configuration Late',
  ]);
  await expectLogIntact(service, tenant.id);
});

test('every problem of a view is told at once', async () => {
  const wrong = {
    name: ' ',
    last: '7 d',
    columns: [],
    shared: 'yes',
    more: 1,
    filters: { acton: 'x', category: ['none', 'security'], from: 'today' },
  };
  const answer = await send('POST', '/api/views', tenant.key, wrong);
  expect(codeOf(answer)).toEqual([422, 'validation_failed']);
  expect(pathsOf(answer).sort()).toEqual([
    ...['/columns', '/filters/acton', '/filters/category/0', '/filters/from', '/last', '/last'],
    ...['/more', '/name', '/shared'],
  ]);
  const none = await send('PUT', `/api/views/view_${'0'.repeat(26)}`, tenant.key, []);
  expect(codeOf(none)).toEqual([422, 'validation_failed']);
});

test('a tenant shares at most 200 views, a person has at most 100 more', async () => {
  const person = await admin('bo@example.com');
  const fill = (shared: boolean, count: number) =>
    service.owner.query(
      `INSERT INTO views (tenant_id, id, name, filters, shared, created_at, updated_at, created_by_id)
       SELECT $1, gen_random_uuid(), 'x', '{}', $2, now(), now(), $3 FROM generate_series(1, $4)`,
      [tenant.id, shared, person.id, count],
    );
  await fill(true, 199);
  await fill(false, 99);
  for (const shared of [true, false]) {
    const create = () => send('POST', '/api/views', person.key, { ...night, shared });
    const both = await Promise.all([create(), create()]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  }
});

test('a view that an operator removes is in the log with the declared reason', async () => {
  const view = await made(tenant.key, { shared: true });
  const headers = { 'x-tenant-id': tenant.id, 'x-access-reason': 'ticket 7' };
  const removed = await service.call({ method: 'DELETE', url: one(view), headers });
  expect(removed.status).toBe(204);
  const [, event] = await recorded();
  expect(event).toMatchObject({ action: 'delete', crossTenant: true, reason: 'ticket 7' });
});

test('an erased person is named by no view, neither as its maker nor in its filter', async () => {
  await recordEach(service, tenant.key, [{ actor: actorOf(ana, 'ana@example.com') }]);
  const person = await admin('ana@example.com', ana);
  const named = await made(person.key, { shared: true, name: 'What ana@example.com did' });
  const filters = { action: ['login'] };
  const other = await made(person.key, { shared: true, name: 'Logins', filters });
  await eraseNow(service, { tenantId: tenant.id, actor: 'ana@example.com' });
  expect((await send('GET', one(named), tenant.key)).status).toBe(404);
  const { body } = await send('GET', one(other), tenant.key);
  expect(body).toMatchObject({ filters, createdBy: { id: ana, email: null } });
  expect(JSON.stringify(body)).not.toMatch(/ana@example/i);
});
