import { createHash, randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, idsListed, pathsOf } from '@indelible/testing/answers';
import { vkeyOf } from '@indelible/testing/checkpoints';
import { recordOne } from '@indelible/testing/event-pool';
import { expectLogIntact, expectTreeIntact, rootStored } from '@indelible/testing/intact';
import { openNote } from '@indelible/testing/open-note';
import { at, tenantOf } from '@indelible/testing/retention-setup';
import { eventOf, testService } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { expect, test } from 'vitest';

const day = 86_400_000;
const bo = { id: 'b7e1f5a0-2c4d-4e6f-8a9b-0c1d2e3f4a5b', email: 'bo@example.com', role: 'admin' };
const recording = { type: 'recording', id: '64f0f7f2-8f0a-4a51-9a58-5a3b7a3c2d1e' };

const service = await testService({
  AUTH_JWT_SECRET: jwtSecret,
  PUBLIC_URL: 'https://audit.example.com',
  METRICS_TOKEN: 'a-token',
});

interface Tenant {
  id: string;
  key: string;
}

const iso = (ms: number) => new Date(ms).toISOString();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Bo plays a recording; returns the event's id. */
async function play({ key }: Tenant, agoMs: number, actor: unknown = bo): Promise<string> {
  const timestamp = iso(service.clock.now - agoMs);
  const body = eventOf({ timestamp, actor, action: 'play', resource: recording, diff: {} });
  return (await recordOne(service, key, body)).id;
}

const save = (key: string, body: unknown, headers: Record<string, string> = {}) =>
  service.call({ method: 'POST', url: '/api/audit-logs/searches', key, body, headers });

async function saved(key: string, filters: unknown, more: { note?: string; unknown?: true } = {}) {
  const { status, body, text } = await save(key, { filters, ...more });
  expect(status, text).toBe(201);
  return body;
}

const open = (key: string, id: string, headers: Record<string, string> = {}) =>
  service.call({ url: `/api/audit-logs/searches/${id}`, key, headers });

async function now(key: string, id: string) {
  const { status, body, text } = await open(key, id);
  expect(status, text).toBe(200);
  return body.now;
}

async function searchEvents({ id, key }: Tenant) {
  const query = `action=search&resource=audit_log&resource_id=${id}&include=state&sort=sequence`;
  return (await service.call({ url: `/api/audit-logs?${query}`, key })).body.data;
}

test('a search is kept with its question, its checkpoint, and count and digest of its answer', async () => {
  const tenant = await service.tenant('Pro');
  const ids = [await play(tenant, 3 * day), await play(tenant, day), await play(tenant, 2 * day)];
  await play(tenant, day, { ...bo, id: randomUUID(), email: 'else@example.com' });
  const admin = { sub: randomUUID(), email: 'ana@example.com', role: 'admin', tenantId: tenant.id };
  const person = await token(admin, service.clock.now);
  const filters = {
    user: 'BO@example.com',
    action: ['play'],
    from: iso(service.clock.now - 9 * day),
  };
  const note = 'Did Bo listen?\nAsked by the works council';
  const kept = await saved(person, filters, { note });
  expect(kept).toMatchObject({
    url: `https://audit.example.com/settings/audit/searches/${kept.id}`,
    filters: { ...filters, user: ['bo@example.com'], to: iso(service.clock.now) },
    note,
    createdAt: iso(service.clock.now),
    createdBy: { id: admin.sub, email: admin.email },
    matched: { value: 3 },
    digest: sha256([ids[1], ids[2], ids[0]].join('\n')),
  });
  const { note: signed, size, rootHash } = kept.checkpoint;
  const checkpoint = openNote(signed, await vkeyOf(service.app, signed));
  expect(checkpoint).toMatchObject({ size, root: Buffer.from(rootHash, 'hex') });
  const { body } = await open(person, kept.id);
  const { now: today, ...same } = body;
  expect(same).toEqual(kept);
  expect(today).toMatchObject({
    matched: kept.matched,
    digest: kept.digest,
    agrees: true,
    earlierAgrees: true,
    recordedSince: { value: 0 },
    bodiesExpired: false,
    erasedSince: false,
  });
  // Today's checkpoint covers the log as it is, the record of the search included.
  expect(today.checkpoint.size).toBe(size + 1);
  expect(today.checkpoint.rootHash).toBe((await rootStored(service, tenant.id)).toString('hex'));
  await expectLogIntact(service, tenant.id);
});

test('saving a search is recorded with what was asked and answered; opening one is not', async () => {
  const tenant = await service.tenant();
  const kept = await saved(tenant.key, { action: '!login' }, { note: 'why' });
  await now(tenant.key, kept.id);
  const events = await searchEvents(tenant);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    actor: { role: 'api_key', email: null },
    category: 'data_access',
    recordedBy: { kind: 'service' },
    diff: {},
    after: {
      searchId: kept.id,
      filters: kept.filters,
      note: 'why',
      matched: kept.matched.value,
      digest: kept.digest,
      checkpointSize: kept.checkpoint.size,
    },
  });
  await expectLogIntact(service, tenant.id);
});

test('a search without a range covers everything that the plan shows, until now', async () => {
  const tenant = await service.tenant('Starter');
  const kept = await saved(tenant.key, {});
  const { now: nowMs } = service.clock;
  // An event may have been received a day after it happened.
  expect(kept.filters).toEqual({ from: iso(nowMs - 31 * day), to: iso(nowMs) });
  const wide = await saved(tenant.key, { from: '1990-01-01', to: '2999-01-01' });
  expect(wide.filters).toEqual(kept.filters);
  const past = await save(tenant.key, { filters: { to: iso(nowMs - 32 * day) } });
  const future = await save(tenant.key, { filters: { from: iso(nowMs + 1) } });
  for (const answer of [past, future]) {
    expect(codeOf(answer)).toEqual([422, 'validation_failed']);
    expect(answer.body.errors[0].path).toBe('/filters/from');
  }
});

test('evidence names the sources that numbered events in its range, and their gaps there', async () => {
  const tenant = await service.tenant();
  const send = async (id: string, sequence: number) => {
    const body = eventOf({ source: { id, sequence } });
    await service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, body });
    service.clock.now += 60_000;
    return iso(service.clock.now - 60_000);
  };
  const [before, after] = [await send('billing', 0), await send('billing', 3)];
  await send('crm', 0);
  const { id } = await saved(tenant.key, { resource: '!call' });
  const middle = await saved(tenant.key, { from: iso(service.clock.now - 61_000) });
  await send('late', 0);
  expect((await now(tenant.key, id)).sources).toEqual([
    {
      id: 'billing',
      firstReceivedAt: before,
      lastReceivedAt: after,
      gapsDropped: false,
      gaps: [{ from: 1, to: 2, afterReceivedAt: before, noticedAt: after }],
    },
    expect.objectContaining({ id: 'crm', gaps: [] }),
  ]);
  expect((await now(tenant.key, middle.id)).sources).toMatchObject([{ id: 'crm' }]);
});

test('evidence says what it could have found: since when, in the range, and of each person and resource', async () => {
  const tenant = await service.tenant('Pro');
  const beganMs = service.clock.now;
  service.clock.now += 60_000;
  await play(tenant, 2 * day);
  await play(tenant, day);
  const [bobs, nobodys] = [bo.email, 'nobody@example.com'];
  const range = { from: iso(service.clock.now - 3 * day), to: iso(service.clock.now - 1.5 * day) };
  const people = { user: [bobs, nobodys], resource: 'recording', resourceId: recording.id };
  const { id } = await saved(
    tenant.key,
    { ...range, ...people, action: '!play' },
    { unknown: true },
  );
  const total = (value: number) => ({ value, relation: 'eq' });
  expect((await now(tenant.key, id)).coverage).toEqual({
    logBeganAt: iso(beganMs),
    shownFrom: iso(service.clock.now - 365 * day),
    eventsInRange: total(1),
    totals: [
      { filter: 'user', value: bobs, events: total(2) },
      { filter: 'user', value: nobodys, events: total(0) },
      { filter: 'resource', value: 'recording', events: total(2) },
      { filter: 'resourceId', value: recording.id, events: total(2) },
    ],
  });
});

test('evidence about a person or resource that occurs in no event is refused at its path, unless it is to say so', async () => {
  const tenant = await service.tenant();
  const client = { id: randomUUID(), email: 'Eve@example.com', externalId: 'eve' };
  const agent = { ...bo, type: 'agent' };
  const body = eventOf({
    actor: agent,
    onBehalfOf: [client],
    resource: { type: 'call_note', externalId: '3205' },
  });
  await recordOne(service, tenant.key, body);
  service.clock.now += 10;
  const known = {
    user: [bo.id, 'BO@example.com'],
    onBehalfOf: [client.id, 'eve@example.com'],
    resource: 'call_note',
    resourceId: '3205',
  };
  expect(await saved(tenant.key, known)).toMatchObject({
    unknownValues: {},
    matched: { value: 1 },
  });
  const wrong = {
    user: ['bo@example.com', 'rhea'],
    onBehalfOf: 'bo@example.com',
    resource: 'recording',
    resourceId: '3205',
    target: 'lea',
  };
  const refused = await save(tenant.key, { filters: wrong, note: 'Rhea did not access call 3205' });
  expect(codeOf(refused)).toEqual([422, 'validation_failed']);
  expect(refused.body.detail).toMatch(
    /^\/filters\/user\/1 "rhea" occurs in no event .*"unknown": true/,
  );
  expect(refused.body.errors).toEqual(
    [
      ['/filters/user/1', 'rhea'],
      ['/filters/onBehalfOf', 'bo@example.com'],
      ['/filters/resource', 'recording'],
      ['/filters/resourceId', '3205'],
      ['/filters/target', 'lea'],
    ].map(([path, value]) => ({
      path,
      code: 'unknown_value',
      message: expect.stringContaining(`"${value}" occurs in no event that the plan shows`),
    })),
  );
  const unknownValues = {
    user: ['rhea'],
    onBehalfOf: ['bo@example.com'],
    resource: ['recording'],
    resourceId: ['3205'],
    target: ['lea'],
  };
  const kept = await saved(tenant.key, wrong, { unknown: true });
  expect(kept).toMatchObject({ unknownValues, matched: { value: 0 } });
  // That the person came later does not change what was known then.
  await play(tenant, 0, { ...bo, externalId: 'rhea', id: undefined });
  expect((await open(tenant.key, kept.id)).body).toMatchObject({ unknownValues });
  const list = await service.call({ url: '/api/audit-logs/searches', key: tenant.key });
  expect(list.body.data[0]).toMatchObject({ id: kept.id, unknownValues });
  expect((await searchEvents(tenant)).at(-1)).toMatchObject({ after: { unknownValues } });
  await expectLogIntact(service, tenant.id);
});

test('a value that only excludes may be unknown: it excludes nothing', async () => {
  const tenant = await service.tenant();
  await play(tenant, 0);
  service.clock.now += 10;
  const filters = { action: 'play', user: '!rhea', resource: '!call' };
  expect(await saved(tenant.key, filters)).toMatchObject({
    unknownValues: {},
    matched: { value: 1 },
  });
});

test('a person of another tenant, or of events that the plan no longer shows, is unknown; one outside the range is known', async () => {
  const tenant = await tenantOf(service, 'Starter', 40);
  await at(service, service.clock.now - 40 * day, () => play(tenant, 0));
  const recent = { ...bo, id: randomUUID(), email: 'recent@example.com' };
  await play(tenant, 9 * day, recent);
  await play(await service.tenant(), 0, { ...bo, id: randomUUID(), email: 'else@example.com' });
  service.clock.now += 10;
  for (const user of [bo.email, bo.id, 'else@example.com']) {
    const { status, body } = await save(tenant.key, { filters: { user } });
    expect([user, status, body.errors?.[0].code]).toEqual([user, 422, 'unknown_value']);
  }
  const range = { from: iso(service.clock.now - day) };
  const known = await saved(tenant.key, { user: recent.id, ...range });
  expect(known).toMatchObject({ unknownValues: {}, matched: { value: 0 } });
});

test('an id of another resource type is unknown', async () => {
  const tenant = await service.tenant();
  await play(tenant, 0);
  await recordOne(service, tenant.key, eventOf({ resource: { type: 'queue', id: randomUUID() } }));
  service.clock.now += 10;
  for (const resourceId of [recording.id, recording.id.toUpperCase()]) {
    const { status, body } = await save(tenant.key, { filters: { resource: 'queue', resourceId } });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ path: '/filters/resourceId', code: 'unknown_value' }]);
  }
  await saved(tenant.key, { resource: 'recording', resourceId: recording.id });
});

test('evidence of an earlier build is judged when it is opened, by what occurs then', async () => {
  const tenant = await service.tenant();
  await play(tenant, 0);
  service.clock.now += 10;
  const found = await saved(tenant.key, { user: bo.email });
  const none = await saved(
    tenant.key,
    { user: [bo.email, 'rhea'], action: 'x' },
    { unknown: true },
  );
  await service.owner.query('UPDATE searches SET unknown_values = NULL WHERE tenant_id = $1', [
    tenant.id,
  ]);
  const list = await service.call({ url: '/api/audit-logs/searches', key: tenant.key });
  expect(list.body.data[0].unknownValues).toBe(null);
  const unknownIn = async ({ id }: { id: string }) =>
    (await open(tenant.key, id)).body.unknownValues;
  expect(await unknownIn(found)).toEqual({});
  expect(await unknownIn(none)).toEqual({ user: [expect.stringMatching(/^[0-9a-f-]{36}$/)] });
});

test('later events outside the range change nothing; within the range they are told apart', async () => {
  const tenant = await service.tenant();
  await play(tenant, 2 * day);
  service.clock.now += 10;
  const kept = await saved(tenant.key, { user: bo.email });
  service.clock.now += 60_000;
  await play(tenant, 0);
  expect(await now(tenant.key, kept.id)).toMatchObject({ agrees: true, matched: { value: 1 } });
  await play(tenant, 3 * day);
  const today = await now(tenant.key, kept.id);
  expect(today).toMatchObject({
    matched: { value: 2 },
    agrees: false,
    earlierAgrees: true,
    recordedSince: { value: 1 },
    bodiesExpired: false,
  });
  expect(today.digest).not.toBe(kept.digest);
  await expectLogIntact(service, tenant.id);
});

test('bodies that have left the plan are told apart from an answer that changed', async () => {
  const tenant = await tenantOf(service, 'Starter', 20);
  await at(service, service.clock.now - 20 * day, () => play(tenant, 0));
  await play(tenant, 10 * day); // late: counted from now
  await play(tenant, 2 * day);
  service.clock.now += 10;
  const kept = await saved(tenant.key, { action: 'play' });
  const nothing = await saved(tenant.key, { action: 'unheard_of' });
  service.clock.now += 9 * day;
  expect(await now(tenant.key, kept.id)).toMatchObject({ agrees: true, bodiesExpired: false });
  service.clock.now += 3 * day;
  expect(await now(tenant.key, kept.id)).toMatchObject({
    matched: { value: 2 },
    agrees: false,
    earlierAgrees: false,
    recordedSince: { value: 0 },
    bodiesExpired: true,
  });
  // The same answer, but no longer from all that was looked at.
  expect(await now(tenant.key, nothing.id)).toMatchObject({ agrees: true, bodiesExpired: true });
  await expectLogIntact(service, tenant.id);
});

test('an event that came late is found by a saved search until its own time is over', async () => {
  const tenant = await service.tenant('Starter');
  const received = service.clock.now;
  await play(tenant, 29 * day);
  service.clock.now = received + 5 * day;
  const kept = await saved(tenant.key, { action: 'play' });
  expect(kept.matched.value).toBe(1);
  service.clock.now = received + 30 * day;
  expect(await now(tenant.key, kept.id)).toMatchObject({ agrees: true, bodiesExpired: false });
  service.clock.now += 1;
  expect(await now(tenant.key, kept.id)).toMatchObject({ agrees: false, bodiesExpired: true });
});

test('a search finds late events also while the events of a former plan are not moved', async () => {
  const tenant = await tenantOf(service, 'Starter', 20);
  await play(tenant, 10 * day); // late
  await play(tenant, 0);
  const url = `/api/tenants/${tenant.id}`;
  await service.call({ method: 'PUT', url, body: { plan: 'Enterprise' } });
  service.clock.now += 10;
  const kept = await saved(tenant.key, { action: 'play' });
  expect(kept.matched.value).toBe(2);
  expect(await now(tenant.key, kept.id)).toMatchObject({ agrees: true, bodiesExpired: false });
});

test('an event that is taken out of the database makes the answer disagree, without an excuse', async () => {
  const tenant = await service.tenant();
  await play(tenant, 2 * day);
  await play(tenant, day);
  service.clock.now += 10;
  const kept = await saved(tenant.key, { action: 'play' });
  await service.owner.query(
    `DELETE FROM audit_events WHERE tenant_id = $1 AND id =
       (SELECT id FROM audit_events WHERE tenant_id = $1 AND action = 'play' ORDER BY id DESC LIMIT 1)`,
    [tenant.id],
  );
  expect(await now(tenant.key, kept.id)).toMatchObject({
    matched: { value: 1 },
    agrees: false,
    earlierAgrees: false,
    bodiesExpired: false,
  });
  await expectTreeIntact(service, tenant.id);
});

test('a wrong filter or note is refused, every problem at once, and nothing is kept', async () => {
  const { key } = await service.tenant();
  const wrong = await save(key, { filters: { actoin: 'x', user: 'nobody@', from: 'yesterday' } });
  expect(codeOf(wrong)).toEqual([422, 'validation_failed']);
  const members = ['/filters/actoin', '/filters/from', '/filters/user'];
  expect(pathsOf(wrong).sort()).toEqual(members);
  for (const body of [
    ...[{}, { filters: null }, { filters: [] }, { filters: {}, note: 'x'.repeat(1_001) }],
    ...[
      { filters: {}, note: 'a\u0007' },
      { filters: {}, from: '2026-01-01' },
      { filters: {}, note: 1 },
    ],
  ]) {
    expect(codeOf(await save(key, body)), JSON.stringify(body)).toEqual([422, 'validation_failed']);
  }
  const list = await service.call({ url: '/api/audit-logs/searches', key });
  expect(list.body.data).toEqual([]);
});

test('searches are listed newest first, page by page', async () => {
  const { key } = await service.tenant();
  const ids: string[] = [];
  for (const action of ['a', 'b', 'c']) {
    service.clock.now += 5;
    ids.unshift((await saved(key, { action })).id);
  }
  expect(await idsListed(service, '/api/audit-logs/searches', key)).toEqual(ids);
});

test('an operator searches with a declared reason, and the tenant sees search and reading', async () => {
  const tenant = await service.tenant();
  const own = await saved(tenant.key, {});
  const claims = { sub: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };
  const operator = await token(claims, service.clock.now);
  const named = { 'x-tenant-id': tenant.id };
  const reasoned = { ...named, 'x-access-reason': 'Ticket%204711' };
  expect(codeOf(await save(operator, { filters: {} }, named))).toEqual([403, 'reason_required']);
  expect((await open(operator, own.id, reasoned)).status).toBe(200);
  const kept = await save(operator, { filters: {} }, reasoned);
  expect(kept.body.createdBy).toEqual({ id: claims.sub, email: claims.email });
  const events = await searchEvents(tenant);
  expect(events[1]).toMatchObject({
    crossTenant: true,
    reason: 'Ticket 4711',
    actor: { id: claims.sub, email: claims.email, role: 'superadmin' },
  });
  const query = 'action=access&resource=audit_log&cross_tenant=true&include=total';
  const { body } = await service.call({ url: `/api/audit-logs?${query}`, key: tenant.key });
  expect(body.pagination.total.value).toBe(3);
  await expectLogIntact(service, tenant.id);
});

test('no search is saved without a checkpoint, and saved ones can still be opened', async () => {
  const tenant = await service.tenant();
  const kept = await saved(tenant.key, {});
  const folder = join(service.dataDir, 'objects');
  renameSync(folder, `${folder}-away`);
  writeFileSync(folder, '');
  const refused = await save(tenant.key, { filters: {} });
  expect(codeOf(refused)).toEqual([503, 'unavailable']);
  expect(await now(tenant.key, kept.id)).toMatchObject({
    agrees: true,
    checkpoint: kept.checkpoint,
  });
  await rm(folder);
  renameSync(`${folder}-away`, folder);
  const list = await service.call({ url: '/api/audit-logs/searches', key: tenant.key });
  expect(list.body.data).toHaveLength(1);
  await expectLogIntact(service, tenant.id);
});
