import { randomUUID } from 'node:crypto';
import { Browser, viewerToken } from '@indelible/testing/browser';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import {
  callOn,
  eventOf,
  platformKey,
  serviceOn,
  testService,
  whileUnrecordable,
} from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { byItself } from '../own-event.ts';
import { recordLooks } from './record-looks.ts';

/* An operator browses, and the tenant counts the records: one for each thing that was looked at. */

let tenant: { id: string; key: string };
const minute = 60_000;
const nothing = { type: 'audit_log', id: randomUUID(), name: null };

const service = await testService();
tenant = await service.tenant();
await recordAll(service, tenant.key, poolEvents(30, service.clock.now, 20));
const listed = await service.call({ url: '/api/audit-logs?limit=1', key: tenant.key });
const eventId = listed.body.data[0].id;
afterAll(() => expectLogIntact(service, tenant.id));

/** A visit with a reason of its own. */
function visit() {
  const reason = `ticket ${randomUUID()}`;
  const declared = {
    'x-tenant-id': tenant.id,
    'x-access-reason': encodeURIComponent(reason),
    'x-operator-email': 'olga@operator.example',
  };
  const call = (url: string, headers = {}, key = platformKey) =>
    service.call({ url, key, headers: { ...declared, ...headers } });
  const look = async (...args: Parameters<typeof call>) => {
    const answer = await call(...args);
    expect(answer.status, answer.text).toBe(200);
    return answer;
  };
  return { reason, declared, call, look, seen: () => lookedAt(reason) };
}

/** What the tenant's log says was looked at for this reason, oldest first. */
async function lookedAt(reason: string) {
  const query = `action=access&resource=audit_log&resource_id=${tenant.id}&include=state`;
  const url = `/api/audit-logs?${query}&sort=sequence&limit=500`;
  const { body } = await service.call({ url, key: tenant.key });
  return body.data
    .filter((event: { reason: string }) => event.reason === reason)
    .map(({ after }: { after: Record<string, unknown> }) => {
      const { outcome: _outcome, emailAttestedBy: _by, ...look } = after;
      return look;
    });
}

test('pages, order, counts and statistics of one search are one look', async () => {
  const { look, seen } = visit();
  const search = 'user=ana@example.com';
  const { body } = await look(`/api/audit-logs?${search}&limit=1&include=total`);
  const { nextCursor } = body.pagination;
  await look(`/api/audit-logs?${search}&limit=1&cursor=${nextCursor}`);
  await look(`/api/audit-logs?${search}&page=2&limit=5`);
  await look(`/api/audit-logs?${search}&sort=sequence&after_sequence=3`);
  const from = new Date(service.clock.now - 30 * 24 * 60 * minute).toISOString();
  await look(`/api/audit-logs?${search}&from=${from}`);
  await look(`/api/audit-logs/stats?${search}&from=${from}&to=2099-01-01&group_by=action`);
  await look(`/api/audit-logs?user=ANA@example.com&from=${from}`);
  const filters = { user: ['ana@example.com'] };
  expect((await seen()).map((each: { filters: object }) => each.filters)).toEqual([
    filters,
    { from: expect.any(String), ...filters },
    { from: expect.any(String), to: '2099-01-01T00:00:00.000Z', ...filters },
  ]);
});

test('a call that shows more is a look of its own: other filters, times, states, events', async () => {
  const { look, call, seen } = visit();
  const resource = `resource_id=${randomUUID()}`;
  const asked = [
    '/api/audit-logs?action=update',
    '/api/audit-logs',
    '/api/audit-logs?action=!update',
    '/api/audit-logs?action=update&action=create',
    `/api/audit-logs?${resource}`,
    `/api/audit-logs?${resource}&include=state`,
    '/api/audit-logs?from=2026-01-01&to=2026-01-02',
    '/api/audit-logs?from=2026-01-01&to=2026-01-03',
    '/api/audit-logs?received_from=2026-01-01&received_to=2026-01-02',
    `/api/audit-logs/${eventId}`,
    '/api/audit-logs/exports',
    '/api/audit-logs/searches',
    '/api/audit-logs/restores',
    '/api/webhooks',
    '/api/audit-logs/checkpoint',
  ];
  for (const url of asked) await look(url);
  const missing = `${eventId.slice(0, -1)}0`;
  expect((await call(`/api/audit-logs/${missing}`)).status).toBe(404);
  const looks = await seen();
  expect(looks).toHaveLength(asked.length + 1);
  expect(new Set(looks.map((each: object) => JSON.stringify(each))).size).toBe(looks.length);
  expect(looks.slice(-3)).toEqual([
    { lookedAt: 'webhooks' },
    { lookedAt: 'log' },
    { lookedAt: 'event', id: missing },
  ]);
});

test('a test of an alert rule is a look at the events that it compares', async () => {
  const { declared, seen } = visit();
  const post = async (path: string, body: object) => {
    const url = `/api/alert-rules${path}`;
    const answer = await service.call({ method: 'POST', url, headers: declared, body });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
  const rule = { name: 'a rule', kind: 'match', enabled: false };
  const range = { since: '2026-01-02', until: '2026-01-03' };
  const test = (more: object) => post('/test', { rule: { ...rule, ...more }, ...range });
  await test({ filters: { user: 'ana@example.com' } });
  await test({ filters: { user: 'ben@example.com' } });
  const sequence = { kind: 'threshold', count: 2, windowMinutes: 30, groupBy: 'actor' };
  await test({ ...sequence, filters: { action: 'login' }, followedBy: { action: 'delete' } });
  const { id } = await post('', { ...rule, filters: { ip: '192.0.2.1' } });
  await post(`/${id}/test`, range);
  const [from, to] = ['2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z'];
  expect(await seen()).toEqual([
    { lookedAt: 'events', filters: { from, to, user: ['ana@example.com'] } },
    { lookedAt: 'events', filters: { from, to, user: ['ben@example.com'] } },
    { lookedAt: 'events', filters: { from: '2026-01-01T23:30:00.000Z', to } },
    { lookedAt: 'alert-rules' },
    { lookedAt: 'events', filters: { from, to, ip: ['192.0.2.1'] } },
  ]);
});

test('an event and its proof are one look; so are tiles, proofs and events of the log', async () => {
  const { look, seen } = visit();
  await look(`/api/audit-logs/${eventId}`);
  await look(`/api/audit-logs/${eventId}/proof`);
  const { text } = await look('/api/audit-logs/checkpoint');
  const [origin = ''] = text.split('\n');
  const log = origin.slice(origin.indexOf('/l/'));
  await look('/api/audit-logs/consistency?first=1&second=2');
  await look(`${log}/checkpoint`);
  await look(`${log}/tile/entries/000.p/5`);
  await look(`${log}/tile/0/000.p/5`);
  await look(`${log}/events`);
  expect(await seen()).toEqual([{ lookedAt: 'event', id: eventId }, { lookedAt: 'log' }]);
});

test('another operator, reason, credential or address leaves a record of its own', async () => {
  const { look, seen, reason } = visit();
  const { body } = await service.call({
    method: 'POST',
    url: '/api/api-keys',
    key: platformKey,
    body: { name: 'support', scopes: ['events:read'] },
  });
  const url = '/api/audit-logs?action=delete';
  for (const _ of [1, 2]) {
    await look(url);
    await look(url, { 'x-operator-email': 'otto@operator.example' });
    await look(url, {}, body.key);
    await look(url, { 'user-agent': 'another browser' });
    await look(url, { 'x-access-reason': 'elsewhere' });
  }
  expect(await seen()).toHaveLength(4);
  expect(await lookedAt('elsewhere')).toHaveLength(1);
  // Two sessions of a person are two credentials.
  const actor = { id: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };
  for (const _ of [1, 2]) {
    const browser = new Browser(service.app);
    await browser.signIn({
      token: await viewerToken(service.app, { tenantId: tenant.id, actor, reason }),
    });
    for (const _again of [1, 2]) expect((await browser.call({ url })).status).toBe(200);
  }
  expect(await seen()).toHaveLength(6);
});

test('a record stands for fifteen minutes, and not after the clock was set back', async () => {
  const { look, seen } = visit();
  const url = '/api/audit-logs?action=login';
  const began = service.clock.now;
  for (const at of [0, 14, 15, 29, 30, 29]) {
    service.clock.now = began + at * minute;
    await look(url);
  }
  service.clock.now = began + 31 * minute;
  expect(await seen()).toHaveLength(4);
});

test('operators’ events without a reason are found and counted by the service', async () => {
  const own = await service.tenant();
  const actor = { ...(eventOf().actor as object), role: 'superadmin' };
  const silent = [eventOf({ actor }), eventOf({ actor })];
  await recordAll(service, own.key, [...silent, eventOf({ actor, reason: 'Ticket' }), eventOf()]);
  const of = async (filter: string) => {
    const ask = (url: string) => service.call({ url, key: own.key });
    const list = await ask(`/api/audit-logs?cross_tenant=true&${filter}`);
    const stats = await ask(`/api/audit-logs/stats?group_by=user&cross_tenant=true&${filter}`);
    const reasons = list.body.data.map(({ reason }: { reason: string | null }) => reason);
    return [reasons, stats.body.total];
  };
  expect(await of('has_reason=false')).toEqual([[null, null], 2]);
  expect(await of('has_reason=true')).toEqual([['Ticket'], 1]);
  expect(await of('has_reason=!false')).toEqual([['Ticket'], 1]);
});

test('a record that the log no longer has stands for nothing', async () => {
  const { look, reason } = visit();
  const other = await service.tenant();
  const seen = () =>
    service.owner.query('SELECT id FROM audit_events WHERE tenant_id = $1 AND reason = $2', [
      ...[other.id, reason],
    ]);
  const url = '/api/audit-logs?action=delete';
  const headers = { 'x-tenant-id': other.id };
  await look(url, headers);
  const { rows } = await seen();
  // As a restored backup loses it.
  await service.owner.query('DELETE FROM audit_events WHERE id = $1', [rows[0].id]);
  await Promise.all([look(url, headers), look(url, headers)]);
  await look(url, headers);
  const again = await seen();
  expect(again.rows).toHaveLength(1);
  expect(again.rows[0].id).not.toBe(rows[0].id);
});

test('each process of the service writes one record', async () => {
  const { look, seen, declared } = visit();
  const url = '/api/audit-logs?action=restore';
  const { app, close } = await serviceOn(service.servingUrl, service.clock);
  try {
    for (const _ of [1, 2]) {
      await look(url);
      expect((await callOn(app, { url, headers: declared })).status).toBe(200);
    }
    expect(await seen()).toHaveLength(2);
  } finally {
    await close();
  }
});

test('memory is bounded: the oldest looks are forgotten, and recorded again', async () => {
  const recorded: string[] = [];
  const looks = recordLooks(
    async (tenantId) => {
      recorded.push(tenantId);
      return randomUUID();
    },
    async () => true,
    () => 0,
  );
  const event = { actor: byItself, action: 'access', resource: nothing, diff: {} };
  const again = ['10000', '0'];
  for (let n = 0; n <= 10_000; n += 1) await looks(String(n), event, 'api_key 1');
  for (const tenantId of again) await looks(tenantId, event, 'api_key 1');
  expect(recorded.slice(10_000)).toEqual(again);
});

test('a refusal for want of a reason is told once for each thing that was asked for', async () => {
  const refusals = async () => {
    const url = `/api/audit-logs?action=access&resource=audit_log&sort=sequence&limit=500`;
    const { body } = await service.call({ url, key: tenant.key });
    return body.data.filter((event: { reason: string | null }) => event.reason === null).length;
  };
  const before = await refusals();
  for (const url of ['/api/audit-logs', '/api/audit-logs', '/api/audit-logs?action=login']) {
    const headers = { 'x-tenant-id': tenant.id };
    expect((await service.call({ url, key: platformKey, headers })).status).toBe(403);
  }
  expect(await refusals()).toBe(before + 2);
});

test('equal looks at the same time wait for one record; if it fails, none is answered', async () => {
  const { call, look, seen } = visit();
  const url = '/api/audit-logs?action=delete';
  const together = async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(url)));
    return answers.map(({ status }) => status);
  };
  await whileUnrecordable(service, async () => {
    expect(await together()).toEqual(Array(5).fill(503));
  });
  expect(await together()).toEqual(Array(5).fill(200));
  await look(url);
  expect(await seen()).toHaveLength(1);
});
