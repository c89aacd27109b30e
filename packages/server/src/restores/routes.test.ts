import { randomUUID } from 'node:crypto';
import { codeOf, idsListed } from '@indelible/testing/answers';
import { expectMessageAsDocumented } from '@indelible/testing/documented';
import { expectLogIntact } from '@indelible/testing/intact';
import {
  exhaust,
  ivr,
  keyOf,
  outcomesIn,
  recordChange,
  restore,
  restoreFields,
  restoreOf,
  restoresIn,
  restoringService,
} from '@indelible/testing/restore-setup';
import type { HostAnswer } from '@indelible/testing/restoring-host';
import { jwtSecret, token } from '@indelible/testing/token';
import { expect, test } from 'vitest';

const { service, tenant } = await restoringService({ AUTH_JWT_SECRET: jwtSecret });

test('a former state goes to the host, signed and whole, and request and outcome are in the log', async () => {
  const { host, key } = tenant;
  const eventId = await recordChange(service, tenant);
  const { body: event } = await service.call({ url: `/api/audit-logs/${eventId}`, key });
  const later = { before: { steps: ['Hello'] }, after: { steps: [1.5, '"é\n'] } };
  await recordChange(service, tenant, later);
  const admin = { sub: randomUUID(), email: 'ana@example.com', role: 'admin', tenantId: tenant.id };
  const person = await token(admin, service.clock.now);
  const { status, body } = await restore(service, person, eventId);
  expect(status).toBe(202);
  expect(body).toMatchObject({ status: 'applied', reason: null, eventId, to: 'before' });
  expect((await restoreOf(service, key, body.id)).body).toEqual(body);
  expect(host.forged).toBe(0);
  expect(host.calls.map((call) => [call.id, call.applied])).toEqual([[body.id, true]]);
  expect(host.calls[0]?.body).toEqual({
    type: 'audit.restore.requested',
    id: body.id,
    tenantId: tenant.id,
    eventId,
    resource: ivr,
    to: 'before',
    requestedBy: { id: admin.sub, email: 'ana@example.com', role: 'admin' },
    recordedBy: event.recordedBy,
    requestedAt: body.requestedAt,
    before: { steps: ['Welcome'] },
    after: { steps: ['Hello'] },
    current: later.after,
  });
  expectMessageAsDocumented(service.app.http, host.calls[0]?.body);
  const recorded = await restoresIn(service, tenant);
  const restored = { restoreId: body.id, eventId, to: 'before', reason: null };
  expect(recorded.map((e: { after: unknown }) => e.after)).toEqual([
    { ...restored, outcome: 'requested' },
    { ...restored, outcome: 'applied' },
  ]);
  for (const each of recorded) {
    expect(each).toMatchObject({
      actor: { id: admin.sub, email: 'ana@example.com', role: 'admin' },
      resource: ivr,
      diff: {},
      before: null,
      crossTenant: false,
      category: 'configuration',
      recordedBy: { kind: 'service' },
    });
  }
});

test('the host gets nothing but the values of chosen fields, and the log names them', async () => {
  const before = { name: 'Menu', steps: ['Welcome'], pin: '[masked]' };
  const eventId = await recordChange(service, tenant, {
    before,
    after: { name: 'Menu 2', extra: 1 },
  });
  const { body } = await restoreFields(service, tenant.key, eventId, ['steps', 'extra']);
  expect(body).toMatchObject({ status: 'applied', fields: ['steps', 'extra'] });
  const [call] = tenant.host.calls;
  expect(call?.body.fields).toEqual({ steps: ['Welcome'], extra: null });
  expect(call?.body).not.toHaveProperty('before');
  expect(call?.body).not.toHaveProperty('after');
  expectMessageAsDocumented(service.app.http, call?.body);
  for (const each of await restoresIn(service, tenant)) {
    expect(each.after.fields).toEqual(['steps', 'extra']);
  }
  for (const fields of [['pin'], ['nothing'], ['toString']]) {
    expect(codeOf(await restoreFields(service, tenant.key, eventId, fields))).toEqual([
      ...[409, 'conflict'],
    ]);
  }
  expect((await restoreFields(service, tenant.key, eventId, [])).status).toBe(422);
  await recordChange(service, tenant, { action: 'delete', after: null });
  expect((await restoreFields(service, tenant.key, eventId, ['steps'])).status).toBe(409);
  expect(tenant.host.calls).toHaveLength(1);
});

test('the state after a change can be gone back to as well; without a later one it is the current', async () => {
  const eventId = await recordChange(service, tenant);
  expect((await restore(service, tenant.key, eventId, 'after')).body.status).toBe('applied');
  const [call] = tenant.host.calls;
  expect([call?.body.to, call?.body.current]).toEqual(['after', { steps: ['Hello'] }]);
  // What the service has recorded of the restore itself is no state of the menu.
  await restore(service, tenant.key, eventId, 'before');
  expect(tenant.host.calls[1]?.body.current).toEqual({ steps: ['Hello'] });
});

test('a change that was denied or failed is not the current state', async () => {
  const eventId = await recordChange(service, tenant);
  for (const outcome of ['denied', 'failure']) {
    await recordChange(service, tenant, { outcome, after: { steps: ['Refused'] } });
  }
  await restore(service, tenant.key, eventId);
  expect(tenant.host.calls[0]?.body.current).toEqual({ steps: ['Hello'] });
});

test('a deleted resource has no current state, and is restored from before', async () => {
  const eventId = await recordChange(service, tenant, { action: 'delete', after: null });
  expect((await restore(service, tenant.key, eventId)).body.status).toBe('applied');
  expect(tenant.host.calls[0]?.body).toMatchObject({ after: null, current: null });
});

test('the largest states arrive unchanged', async () => {
  const large = (letter: string) => ({ text: letter.repeat(260_000) });
  const states = { before: large('a'), after: large('b') };
  const eventId = await recordChange(service, tenant, states);
  expect((await restore(service, tenant.key, eventId)).body.status).toBe('applied');
  expect(tenant.host.applied.values().next().value).toEqual(states.before);
});

test('a refusal is shown with its reason, and recorded', async () => {
  tenant.host.answers = [{ status: 'refused', reason: 'The queue “Sales”\r\nno longer exists' }];
  const eventId = await recordChange(service, tenant);
  const { body } = await restore(service, tenant.key, eventId);
  const reason = 'The queue “Sales” no longer exists';
  expect(body).toMatchObject({ status: 'refused', reason });
  expect((await restoreOf(service, tenant.key, body.id)).body).toEqual(body);
  expect((await restoresIn(service, tenant))[1]).toMatchObject({
    outcome: 'denied',
    after: { outcome: 'refused', reason },
  });
  expect(tenant.host.applied.size).toBe(0);
});

test('1 KiB of a long reason is kept; one that is no text is none', async () => {
  const eventId = await recordChange(service, tenant);
  tenant.host.answers = [{ status: 'refused', reason: 'ñ'.repeat(20_000) }, { status: 'refused' }];
  const long = await restore(service, tenant.key, eventId);
  expect(long.body.reason).toBe('ñ'.repeat(512));
  const none = await restore(service, tenant.key, eventId);
  expect(none.body).toMatchObject({ status: 'refused', reason: 'the host product gave no reason' });
});

test.each<[string, HostAnswer, string]>([
  ['401', { code: 401, text: '{"status":"applied"}' }, 'answered 401'],
  ['404', { code: 404 }, 'answered 404'],
  [
    'a redirect',
    { code: 302, headers: { location: 'http://127.0.0.1:1/' } },
    'redirects are not followed',
  ],
  ['nothing', { code: 200 }, 'neither applied nor refused'],
  ['a web page', { code: 200, text: '<html>applied</html>' }, 'neither applied nor refused'],
  ['another word', { code: 200, text: '{"status":"ok"}' }, 'neither applied nor refused'],
  ['a list', { code: 200, text: '["applied"]' }, 'neither applied nor refused'],
  ['null', { code: 200, text: 'null' }, 'neither applied nor refused'],
  [
    'too much',
    { code: 200, text: `{"status":"applied","pad":"${'x'.repeat(70_000)}"}` },
    'larger than 64 KiB',
  ],
])('a host that answers %s has failed, and is not asked again', async (_, answer, reason) => {
  tenant.host.answers = [answer];
  const eventId = await recordChange(service, tenant);
  const { body } = await restore(service, tenant.key, eventId);
  expect(body.status).toBe('failed');
  expect(body.reason).toContain(reason);
  await exhaust(service);
  expect(tenant.host.calls).toHaveLength(1);
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'failed']);
});

test.each<[string, HostAnswer, string]>([
  ['500', { code: 500 }, 'answered 500'],
  ['503', { code: 503 }, 'answered 503'],
  ['429', { code: 429 }, 'answered 429'],
  ['a broken connection', { hangUp: true }, 'the connection was broken'],
])(
  'a host that answers %s is asked four times with the same call, then it has failed',
  async (_, answer, reason) => {
    tenant.host.answers = [answer];
    const eventId = await recordChange(service, tenant);
    const { body } = await restore(service, tenant.key, eventId);
    expect(body).toMatchObject({ status: 'requested', reason: null, finishedAt: null });
    await exhaust(service);
    const { calls } = tenant.host;
    expect(calls.map(({ id }) => id)).toEqual(Array(4).fill(body.id));
    expect(new Set(calls.map(({ raw }) => raw)).size).toBe(1);
    const ended = (await restoreOf(service, tenant.key, body.id)).body;
    expect(ended).toMatchObject({ status: 'failed', id: body.id });
    expect(ended.reason).toContain(reason);
    expect(await outcomesIn(service, tenant)).toEqual(['requested', 'failed']);
  },
);

test('a host that is away for a moment applies in the end, once', async () => {
  tenant.host.answers = [{ code: 502 }, { hangUp: true }, { status: 'applied' }];
  const eventId = await recordChange(service, tenant);
  const { body } = await restore(service, tenant.key, eventId);
  await service.app.jobs.tick('restore');
  expect(tenant.host.calls, 'no attempt before its time').toHaveLength(1);
  await exhaust(service);
  expect(tenant.host.calls).toHaveLength(3);
  expect(tenant.host.applied.size).toBe(1);
  expect((await restoreOf(service, tenant.key, body.id)).body.status).toBe('applied');
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
});

test.each([
  ['is not there', { after: null, action: 'delete' }],
  ['is masked', { before: { a: 1 }, after: { name: 'x', apiKey: 'k-1' } }],
  ['is masked deep inside', { before: { a: 1 }, after: { list: [{ deep: { secret: 1 } }] } }],
])('a state that %s cannot be restored, and nobody is called', async (_, changes) => {
  const eventId = await recordChange(service, tenant, changes);
  const answer = await restore(service, tenant.key, eventId, 'after');
  expect(codeOf(answer)).toEqual([409, 'conflict']);
  expect((await restore(service, tenant.key, eventId, 'before')).status).toBe(202);
  expect(tenant.host.calls.map(({ body }) => body.to)).toEqual(['before']);
  expect(await outcomesIn(service, tenant)).toEqual(['requested', 'applied']);
});

test('a text that only speaks of masking is no masked state', async () => {
  const before = { text: 'say "[masked]"', other: 'a [masked] b' };
  const eventId = await recordChange(service, tenant, { before });
  expect((await restore(service, tenant.key, eventId)).body.status).toBe('applied');
  expect(tenant.host.calls[0]?.body.before).toEqual(before);
});

test('an event that the plan hides cannot be restored: it is answered as one that never was', async () => {
  const eventId = await recordChange(service, tenant);
  service.clock.now += 366 * 86_400_000;
  expect(codeOf(await restore(service, tenant.key, eventId))).toEqual([404, 'not_found']);
  expect(tenant.host.calls).toEqual([]);
  service.clock.now -= 366 * 86_400_000;
});

test('a tenant without a restore URL cannot request a restore', async () => {
  const plain = await service.tenant();
  const key = await keyOf(service, plain.id, ['events:write', 'restore:write', 'events:read']);
  const answer = await restore(service, key, await recordChange(service, { key }));
  expect(codeOf(answer)).toEqual([409, 'conflict']);
  expect(answer.body.detail).toContain('restoreUrl');
  expect(await restoresIn(service, { key })).toEqual([]);
  await expectLogIntact(service, plain.id);
});

test('a restore of a missing event, state or field is refused', async () => {
  const eventId = await recordChange(service, tenant);
  for (const wrong of ['nonsense', eventId.slice(0, -2), `evt_audit_${'0'.repeat(26)}`]) {
    expect(codeOf(await restore(service, tenant.key, wrong))).toEqual([404, 'not_found']);
  }
  const url = `/api/audit-logs/${eventId}/restore`;
  for (const body of [{}, { to: 'now' }, { to: 'before', force: true }, { to: null }, []]) {
    const answer = await service.call({ method: 'POST', url, key: tenant.key, body });
    expect(codeOf(answer)).toEqual([422, 'validation_failed']);
  }
  expect(tenant.host.calls).toEqual([]);
});

test('restores are listed newest first, page by page, of one resource or of all', async () => {
  const ids: string[] = [];
  for (const id of [ivr.id, ivr.id, randomUUID()]) {
    const eventId = await recordChange(service, tenant, { resource: { ...ivr, id } });
    service.clock.now += 5;
    ids.unshift((await restore(service, tenant.key, eventId)).body.id);
  }
  const url = '/api/audit-logs/restores';
  expect(await idsListed(service, url, tenant.key)).toEqual(ids);
  const list = (query: string) => service.call({ url: `${url}?${query}`, key: tenant.key });
  const { body } = await list(`resource_id=${ivr.id.toUpperCase()}`);
  expect(body.data).toMatchObject(ids.slice(1).map((id) => ({ id })));
  for (const wrong of ['resource_id=x', `resource_id=${ivr.id}&resource_id=${ivr.id}`]) {
    expect((await list(wrong)).body.code).toBe('invalid_parameter');
  }
});

test('an operator restores with a declared reason, and the tenant sees it as one', async () => {
  const eventId = await recordChange(service, tenant);
  const claims = { sub: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };
  const operator = await token(claims, service.clock.now);
  const reasoned = { 'x-tenant-id': tenant.id, 'x-access-reason': 'Ticket%204711' };
  const { body } = await restore(service, operator, eventId, 'before', reasoned);
  expect(body.status).toBe('applied');
  expect(tenant.host.calls[0]?.body.requestedBy).toEqual({
    id: claims.sub,
    email: claims.email,
    role: 'superadmin',
  });
  const recorded = await restoresIn(service, tenant);
  expect(recorded).toHaveLength(2);
  for (const each of recorded) {
    expect(each).toMatchObject({
      crossTenant: true,
      reason: 'Ticket 4711',
      actor: { email: claims.email },
    });
  }
});
