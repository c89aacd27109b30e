import { hash } from 'node:crypto';
import {
  externalUuid,
  parseEventProof,
  segmentNames,
  verifyEventProof,
  versionOf,
} from '@indelible/protocol';
import { vkeyOf } from '@indelible/testing/checkpoints';
import { recordOne } from '@indelible/testing/event-pool';
import { recordingService } from '@indelible/testing/recording';
import { eventOf } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { everyContext } from '../../../protocol/src/testing/recorded-log.ts';

const { service, tenant } = await recordingService();

const sha = (data: Uint8Array) => hash('sha256', data, 'buffer');

/** An event with these members of actor, resource and itself. */
function sentWith(changes: object): Record<string, unknown> {
  const { actor = {}, resource = {}, ...others } = changes as Record<string, object>;
  const plain = eventOf() as Record<string, object>;
  return {
    ...plain,
    ...others,
    actor: { ...plain.actor, ...actor },
    resource: { ...plain.resource, ...resource },
  };
}

const record = (changes: object = {}) => recordOne(service, tenant.key, sentWith(changes));

const get = (url: string) => service.call({ url: `/api/audit-logs${url}`, key: tenant.key });

test('every field of version 2 is stored, shown alike in read and list, and proven', async () => {
  const recorded = await record(everyContext);
  expect(recorded).toMatchObject(everyContext);
  const { leafHash, warnings, warningPaths, ...event } = recorded;
  expect((await get(`/${event.id}`)).body).toEqual(event);
  const { before, after, ...listed } = event;
  expect((await get('?limit=1')).body.data).toEqual([listed]);
  const { text } = await get(`/${event.id}/proof`);
  const { checkpoint } = JSON.parse(text);
  const verdict = await verifyEventProof(sha, text, [await vkeyOf(service.app, checkpoint)]);
  expect(verdict).toMatchObject({ code: 'valid' });
  expect(versionOf(parseEventProof(text).body)).toBe(2);
});

test('an event without such a field stays one of version 1, also beside one with', async () => {
  const { status } = await service.call({
    method: 'POST',
    url: '/api/audit-logs/batch',
    key: tenant.key,
    body: { events: [eventOf(), sentWith({ outcome: 'success' }), eventOf()] },
  });
  expect(status).toBe(200);
  const { body } = await get('?resource=queue&sort=sequence');
  const versions = [];
  for (const { id } of body.data) {
    versions.push(versionOf(parseEventProof((await get(`/${id}/proof`)).text).body));
  }
  expect(versions).toEqual([1, 2, 1]);
});

test('empty values of version 2 are not stored, so the event stays one of version 1', async () => {
  const empty = { actor: { name: null, externalId: '' }, outcome: null, targets: [] };
  const none = { metadata: {}, via: {}, source: {}, traceId: '0'.repeat(32) };
  const { id, ...event } = await record({ ...empty, ...none });
  expect(Object.keys(event.actor)).toEqual(['id', 'email', 'role', 'ip', 'userAgent']);
  for (const name of ['targets', ...Object.keys(none)]) expect(event).not.toHaveProperty(name);
  expect(versionOf(parseEventProof((await get(`/${id}/proof`)).text).body)).toBe(1);
});

test('an external id stands in for the id: the same gives the same, in every place', async () => {
  const { actor, resource, onBehalfOf, targets } = await record({
    actor: { id: undefined, externalId: 'user_123' },
    resource: { id: undefined, externalId: 'order-77' },
    onBehalfOf: [{ externalId: 'user_123' }],
    targets: [{ type: 'queue', externalId: 'order-77' }],
  });
  expect(actor.id).toBe(externalUuid(tenant.id, 'actor', 'user_123'));
  expect(resource.id).toBe(externalUuid(tenant.id, 'queue', 'order-77'));
  expect([onBehalfOf[0].id, targets[0].id]).toEqual([actor.id, resource.id]);
  const given = await record({ actor: { externalId: 'user_123' } });
  expect(given.actor.id).toBe((eventOf().actor as { id: string }).id);
});

test('the same id with another field of version 2 is another content', async () => {
  const { id } = await record({ outcome: 'failure' });
  const again = (changes: object) =>
    service.call({
      method: 'POST',
      url: '/api/audit-logs',
      key: tenant.key,
      body: sentWith({ id, ...changes }),
    });
  expect((await again({ outcome: 'failure' })).status).toBe(200);
  expect((await again({ outcome: 'success' })).status).toBe(409);
  expect((await again({})).status).toBe(409);
});

test.each([
  ['metadata', { apiKey: 's3cret', region: 'eu' }, { apiKey: '[masked]', region: 'eu' }],
  [
    'via',
    { channel: 'mcp', sessionId: `Bearer eyJhbGciOiJI.eyJzdWIiOiIx.${'a'.repeat(20)}` },
    { channel: 'mcp', sessionId: '[masked]' },
  ],
])('secrets in %s are masked, and the warning says so', async (name, sent, shown) => {
  const { warnings, ...event } = await record({ [name]: sent });
  expect([event[name], warnings]).toEqual([shown, ['secret_masked']]);
});

test('a proof opens each segment that the event has, and no other', async () => {
  const { id } = await record({ actor: { name: 'Ana' } });
  const { body } = await get(`/${id}/proof`);
  expect(Object.keys(body.salts)).toEqual(segmentNames.filter((name) => name !== 'state'));
});

/** The names of the resources that a filter finds, in order. */
async function found(params: string): Promise<string[]> {
  const { status, body } = await get(`?sort=sequence&${params}`);
  expect([status, body.detail]).toEqual([200, undefined]);
  return body.data.map((event: { resource: { name: string } }) => event.resource.name);
}

const named = (name: string, changes: object = {}) =>
  record({ ...changes, resource: { name, ...(changes as { resource?: object }).resource } });

test('each filter of version 2 finds its events, and excludes them, in list, count and statistics', async () => {
  await named('plain');
  await named('failed', { action: 'login_failed' });
  await named('payment', { action: 'payment.failed', outcome: 'success' });
  await named('denied', { outcome: 'denied', correlationId: 'req-1' });
  const person = { externalId: 'user_9', email: 'Ana@Example.com' };
  await named('agent', { actor: { type: 'agent' }, onBehalfOf: [person] });
  const own = 'resource=queue';
  expect(await found(`${own}&outcome=failure`)).toEqual(['failed']);
  expect(await found(`${own}&outcome=success&outcome=denied`)).toEqual(['payment', 'denied']);
  expect(await found(`${own}&outcome=!failure`)).toEqual(['plain', 'payment', 'denied', 'agent']);
  expect(await found('actor_type=agent')).toEqual(['agent']);
  expect(await found('correlation_id=req-1')).toEqual(['denied']);
  expect(await found('correlation_id=req-1&correlation_id=req-2')).toEqual(['denied']);
  const id = externalUuid(tenant.id, 'actor', 'user_9');
  for (const value of ['user_9', id, 'ana@example.COM']) {
    expect(await found(`on_behalf_of=${value}`)).toEqual(['agent']);
    expect(await found(`${own}&on_behalf_of=!${value}`)).toHaveLength(4);
  }
  const { body } = await get(`/stats?${own}&group_by=outcome`);
  const counts = body.data.map((row: { outcome: string; count: number }) => [
    row.outcome,
    row.count,
  ]);
  expect(Object.fromEntries(counts)).toEqual({ null: 2, failure: 1, success: 1, denied: 1 });
});

test('actions on a person or thing are found by its id, own id and words, and by trace id', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const member = { type: 'user', id: '3f8e21b7-94c6-4d05-a1e2-7b60c9d4f518' };
  await named('by id', { action: 'add_member', traceId, targets: [member] });
  const decomposed = { type: 'did', externalId: 'l\u0131ne-e\u0301' };
  await named('by own id', { targets: [{ type: 'ivr', externalId: 'x' }, decomposed] });
  await named('other', { targets: [{ type: 'user', externalId: 'bo' }] });
  await named('plain');
  const own = encodeURIComponent('l\u0131ne-\u00e9');
  for (const value of [
    `target=${member.id}`,
    `q=${member.id}`,
    `trace_id=${traceId.toUpperCase()}`,
  ])
    expect([value, await found(value)]).toEqual([value, ['by id']]);
  for (const value of [`target=${own}`, `target=${externalUuid(tenant.id, 'ivr', 'x')}`])
    expect([value, await found(value)]).toEqual([value, ['by own id']]);
  expect(await found(`target=${member.id}&target=bo`)).toEqual(['by id', 'other']);
  expect(await found(`resource=queue&target=!bo&trace_id=!${traceId}`)).toEqual([
    'by own id',
    'plain',
  ]);
  const { body } = await get(`?target=${member.id}&target=${own}`);
  expect(body.data.map(({ resource }: { resource: { name: string } }) => resource.name)).toEqual([
    'by own id',
    'by id',
  ]);
  const stats = await get(`/stats?group_by=action&target=${member.id}`);
  expect(stats.body).toMatchObject({ data: [{ action: 'add_member', count: 1 }], total: 1 });
  expect((await get('?trace_id=1234')).body.code).toBe('invalid_parameter');
});

test('row-level security does not keep a correlation id from its index', async () => {
  const { owner } = service;
  await owner.query('BEGIN');
  await owner.query('SET LOCAL ROLE indelible_reader');
  const { rows } = await owner
    .query(
      `EXPLAIN SELECT * FROM audit_events WHERE tenant_id = $1 AND correlation_id = $2
       ORDER BY id DESC LIMIT 51`,
      [tenant.id, 'req-1'],
    )
    .finally(() => owner.query('ROLLBACK'));
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/Index Cond: .*correlation_id = 'req-1'/);
});

test('own ids find what was recorded under them, and a resource id needs its type', async () => {
  await named('mine', { actor: { id: undefined, externalId: 'user_123' } });
  await named('order', { resource: { type: 'order', id: undefined, externalId: 'order-77' } });
  await named('other');
  expect(await found('user=user_123')).toEqual(['mine']);
  expect(await found('resource=queue&user=!user_123')).toEqual(['other']);
  expect(await found('resource=order&resource_id=order-77')).toEqual(['order']);
  expect(await found('resource=queue&resource_id=order-77')).toEqual([]);
  for (const query of ['', 'resource=order&resource=queue&', 'resource=!order&']) {
    const { status, body } = await get(`?${query}resource_id=order-77`);
    expect([status, body.code]).toEqual([400, 'invalid_parameter']);
    expect(body.detail).toContain('beside exactly one resource');
  }
});

test('own ids that are UUIDs or look like addresses find their events too', async () => {
  const uuid = '7F9C2BA4-e88f-4a1b-9c3d-1f2e3d4c5b6a';
  const client = 'AbC1@clients'; // as Auth0 names programs
  const mailbox = { type: 'mailbox', id: undefined, externalId: 'Team@Example.com' };
  await named('uuid', { actor: { id: undefined, externalId: uuid }, resource: { type: 'order' } });
  await named('client', { actor: { id: undefined, externalId: client, email: null } });
  await named('for', { onBehalfOf: [{ externalId: client }] });
  await named('mailbox', { resource: mailbox });
  expect(await found(`resource=order&user=${uuid}`)).toEqual(['uuid']);
  expect(await found('user=abc1@clients')).toEqual(['client']);
  expect(await found(`on_behalf_of=${client}`)).toEqual(['for']);
  expect(await found('resource=mailbox&resource_id=Team@Example.com')).toEqual(['mailbox']);
});

test('own ids and addresses are the same in each normal form of Unicode', async () => {
  const [composed, decomposed] = ['jos\u00e9', 'jose\u0301'];
  for (const own of [composed, decomposed]) {
    const actor = { id: undefined, externalId: own, email: `${own}@example.com` };
    await named(own, { actor, resource: { type: 'order', id: undefined, externalId: own } });
  }
  const both = [composed, decomposed];
  for (const own of [composed, decomposed].map(encodeURIComponent)) {
    for (const query of [
      `user=${own}`,
      `user=${own}@example.com`,
      `resource=order&resource_id=${own}`,
    ])
      expect([query, await found(query)]).toEqual([query, both]);
  }
});

test('an own id of the longest length is found, whatever its characters', async () => {
  const externalId = '𝒜'.repeat(200);
  await named('long', { actor: { id: undefined, externalId }, correlationId: '𝒜'.repeat(128) });
  expect(await found(`user=${encodeURIComponent(externalId)}`)).toEqual(['long']);
  expect(await found(`correlation_id=${encodeURIComponent('𝒜'.repeat(128))}`)).toEqual(['long']);
});

test('exports and saved searches take own ids and keep UUIDs', async () => {
  await named('mine', { actor: { id: undefined, externalId: 'user_123' }, outcome: 'denied' });
  await named('other');
  const filters = { user: 'user_123' };
  const post = (url: string, body: object) =>
    service.call({ method: 'POST', url: `/api/audit-logs${url}`, key: tenant.key, body });
  const columns = ['resource.name', 'outcome', 'actor.externalId', 'resource.id'];
  const { text } = await post('/exports', { filters, format: 'csv', columns });
  expect(text.split('\r\n')[1]).toMatch(/^mine,denied,user_123,/);
  expect(text.split('\r\n')).toHaveLength(3);
  service.clock.now += 1_000;
  const { body } = await post('/searches', { filters });
  expect(body).toMatchObject({
    filters: { user: [externalUuid(tenant.id, 'actor', 'user_123')] },
    matched: { value: 1 },
  });
});
