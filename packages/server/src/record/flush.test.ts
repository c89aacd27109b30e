import { hash, randomBytes, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { eventIdFromUuid, eventUuid } from '@indelible/protocol';
import { atEnd } from '@indelible/testing/at-end';
import { expectLogIntact } from '@indelible/testing/intact';
import { lockWaits } from '@indelible/testing/lock-waits';
import {
  type Answer,
  eventOf,
  platformKey,
  post as postTo,
  serviceOn,
  testService,
} from '@indelible/testing/service';
import pg from 'pg';
import { expect, test } from 'vitest';
import type { App } from '../app.ts';
import type { Config } from '../config.ts';
import { type PreparedEvent, prepare } from '../events/prepared-event.ts';

const service = await testService();

/** A further service process, in effect, on the same database. */
async function further(poolSize = 6, changes: Partial<Config> = {}) {
  const { app, db } = await serviceOn(service.servingUrl, service.clock, {}, poolSize, changes);
  atEnd(async () => {
    await app.http.close();
    await db.close();
  });
  return { app, db };
}

const post = (body: object, key = platformKey, app: App = service.app) => postTo(app, key, body);

const named = (name: string) => ({
  resource: { type: 'queue', id: randomUUID(), name },
});

/** An id of this moment, with which an event may be sent again. */
const idAt = (timeMs: number) => eventIdFromUuid(eventUuid(timeMs, randomBytes(10)));

/** Keeps the heads of these logs locked, as the flush of another process does, until it is told. */
async function holdHeads(...tenantIds: string[]): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: service.ownerUrl });
  await client.connect();
  await client.query('BEGIN');
  const sql = 'SELECT 1 FROM indelible.log_heads WHERE tenant_id = $1 FOR UPDATE';
  for (const id of tenantIds) await client.query(sql, [id]);
  const release = () => client.end();
  atEnd(release);
  return release;
}

const waitingSessions = () => lockWaits(service.owner);

async function storedNames(tenantId: string): Promise<(string | null)[]> {
  const { rows } = await service.owner.query<{ name: string | null }>(
    `SELECT resource_name AS name FROM audit_events
      WHERE tenant_id = $1 AND recorded_by_kind = 'api_key' ORDER BY sequence`,
    [tenantId],
  );
  return rows.map(({ name }) => name);
}

test('one event that PostgreSQL refuses inside a full flush fails alone, and the answers agree with the table', async () => {
  const [tenant, neighbour] = [await service.tenant(), await service.tenant()];
  const month = new Date(service.clock.now).toISOString().slice(0, 7).replace('-', '');
  await service.owner.query(`ALTER TABLE audit_events_2_${month}
    ADD CONSTRAINT no_poison CHECK (resource_name IS DISTINCT FROM 'poison')`);
  const names = Array.from({ length: 500 }, (_, n) => (n === 321 ? 'poison' : `event ${n}`));
  const batch = post({ events: names.map((name) => eventOf(named(name))) }, tenant.key);
  const beside = await Promise.all(
    Array.from({ length: 5 }, (_, n) => post(eventOf(named(`beside ${n}`)), neighbour.key)),
  );
  const { status, body } = await batch;
  expect(status).toBe(200);
  expect(beside.map((each) => each.status)).toEqual([201, 201, 201, 201, 201]);
  for (const [index, result] of body.results.entries()) {
    if (index !== 321) expect(result).toMatchObject({ index, status: 'created' });
    else expect(result).toMatchObject({ status: 'rejected', error: { code: 'validation_failed' } });
  }
  expect(await storedNames(tenant.id)).toEqual(names.filter((name) => name !== 'poison'));
  expect(await post(eventOf(named('poison')), tenant.key)).toMatchObject({
    status: 422,
    body: { code: 'validation_failed' },
  });
  await service.owner.query(`ALTER TABLE audit_events_2_${month} DROP CONSTRAINT no_poison`);
  await expectLogIntact(service, tenant.id);
  await expectLogIntact(service, neighbour.id);
});

test('a locked head stalls no other tenant, and its events go through in order afterwards', async () => {
  const [held, free] = [await service.tenant(), await service.tenant()];
  await post(eventOf(), held.key); // its key is known now, so that events join the queue as they come
  const release = await holdHeads(held.id);
  const settled: number[] = [];
  const pending = Array.from({ length: 8 }, (_, n) =>
    post(eventOf(named(`event ${n}`)), held.key).finally(() => settled.push(n)),
  );
  await expect.poll(waitingSessions).toBe(1);
  for (let n = 0; n < 5; n++) expect((await post(eventOf(), free.key)).status).toBe(201);
  const late = post(eventOf(named('event 8')), held.key);
  expect((await post(eventOf(), free.key)).status).toBe(201);
  expect(settled).toEqual([]);
  await release();
  const answers = await Promise.all([...pending, late]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  const first = answers[0]?.body.sequence;
  expect(answers.map(({ body }) => body.sequence - first)).toEqual([...answers.keys()]);
  await expectLogIntact(service, held.id);
});

test('events that come while a flush waits for a head are written with it, in one transaction', {
  tags: 'plain',
}, async () => {
  const { app, db } = await further();
  const tenant = await service.tenant();
  await post(eventOf(), tenant.key, app);
  const release = await holdHeads(tenant.id);
  let transactions = 0;
  db.recording.on('acquire', () => transactions++);
  const first = post(eventOf(named('event 0')), tenant.key, app);
  await expect.poll(waitingSessions).toBe(1);
  const names = Array.from({ length: 20 }, (_, n) => `event ${n}`);
  const others = names.slice(1).map((name) => post(eventOf(named(name)), tenant.key, app));
  await expect.poll(() => app.groupCommit.depth().events).toBe(20);
  await release();
  const answers = await Promise.all([first, ...others]);
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
  expect(transactions).toBe(2); // the first one skipped the head
  expect((await storedNames(tenant.id)).slice(1)).toEqual(names);
  await expectLogIntact(service, tenant.id);
});

test('heads that are never released cost their own events 503 after the lock timeout, others nothing, and no spinning', async () => {
  // More held heads than there are places to wait in, and as few connections as can be configured.
  const { app, db } = await further(2);
  const held = await Promise.all(Array.from({ length: 10 }, () => service.tenant()));
  const free = await service.tenant();
  const release = await holdHeads(...held.map(({ id }) => id));
  const transactions = { all: 0, free: 0 };
  db.recording.on('acquire', () => transactions.all++);
  const ids = held.map(() => idAt(service.clock.now));
  let done = false;
  const began = performance.now();
  const blocked = Promise.all(
    held.map(({ key }, n) => post(eventOf({ id: ids[n] }), key, app)),
  ).finally(() => {
    done = true;
  });
  while (!done) {
    expect((await post(eventOf(), free.key, app)).status).toBe(201);
    transactions.free++;
  }
  for (const { status, headers, body } of await blocked) {
    expect({ status, retryAfter: headers['retry-after'], detail: body.detail }).toEqual({
      status: 503,
      retryAfter: '1',
      detail: 'the log is busy; retry with the same id',
    });
  }
  expect(performance.now() - began).toBeLessThan(25_000); // one wait of 5 s, not ten
  expect(transactions.free).toBeGreaterThan(10); // one a wait, if they waited too
  expect(transactions.all - transactions.free).toBeLessThan(40);
  await release();
  for (const [n, { id, key }] of held.entries()) {
    expect((await post(eventOf({ id: ids[n] }), key, app)).status).toBe(201);
    await expectLogIntact(service, id);
  }
});

test('calls wait while the queue is full, and none is refused if it has room in time', async () => {
  const { app } = await further(6, { queueBytesMax: 64 * 1_024 });
  const held = await service.tenant();
  const release = await holdHeads(held.id);
  const names = Array.from({ length: 60 }, (_, n) => `event ${n}`);
  const answers = names.map((name) =>
    post(eventOf({ ...named(name), reason: 'x'.repeat(1_000) }), held.key, app),
  );
  await expect.poll(() => app.groupCommit.depth().bytes).toBeGreaterThan(60 * 1_024);
  await release();
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([201]));
  expect((await storedNames(held.id)).toSorted()).toEqual(names.toSorted());
  expect(app.groupCommit.depth()).toEqual({ events: 0, bytes: 0 });
});

test('a queue that stays full answers 503, loses nothing it took, and takes events again once it has room', async () => {
  const { app } = await further(6, { queueBytesMax: 64 * 1_024, roomWaitMs: 0 });
  const [held, free] = [await service.tenant(), await service.tenant()];
  const release = await holdHeads(held.id);
  const large = (n: number) =>
    eventOf({ ...named(`event ${n}`), tenantId: held.id, reason: 'x'.repeat(1_000) });
  const settled: Answer[] = [];
  const answers = Array.from({ length: 60 }, (_, n) =>
    post(large(n), platformKey, app).then((answer) => {
      settled.push(answer);
      return answer;
    }),
  );
  await expect.poll(() => app.groupCommit.depth().events + settled.length).toBe(60);
  expect(settled.length).toBeGreaterThan(0);
  expect(app.groupCommit.depth().events).toBeGreaterThan(10);
  expect(app.groupCommit.depth().bytes).toBeLessThanOrEqual(64 * 1_024);
  for (const { status, headers, body } of settled) {
    expect([status, headers['retry-after'], body.code]).toEqual([503, '1', 'unavailable']);
  }
  expect((await post(eventOf({ reason: 'x'.repeat(1_000) }), free.key, app)).status).toBe(503);
  const refused = settled.length;
  await release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 503).length).toBe(refused);
  const taken = [...statuses.keys()].filter((n) => statuses[n] === 201);
  expect(taken.length).toBe(60 - refused);
  expect(await storedNames(held.id)).toEqual(taken.map((n) => `event ${n}`));
  expect(app.groupCommit.depth()).toEqual({ events: 0, bytes: 0 });
  expect((await post(eventOf(), free.key, app)).status).toBe(201);
  await expectLogIntact(service, held.id);
});

test('a key that another process revokes is refused by the very next flush, though it is remembered here', async () => {
  const { app } = await further();
  const tenant = await service.tenant();
  expect((await post(eventOf(), tenant.key)).status).toBe(201);
  const url = `/api/tenants/${tenant.id}/api-keys`;
  const headers = { authorization: `Bearer ${platformKey}` };
  const [key] = (await app.http.inject({ url, headers })).json().data;
  await app.http.inject({ method: 'DELETE', url: `${url}/${key.id}`, headers });
  expect(await post(eventOf(named('too late')), tenant.key)).toMatchObject({
    status: 401,
    body: { code: 'unauthenticated' },
  });
  expect((await post({ events: [eventOf(), eventOf()] }, tenant.key)).status).toBe(401);
  expect(await storedNames(tenant.id)).toEqual(['Support']);
  await expectLogIntact(service, tenant.id);
});

test('a key that is revoked while its event waits records nothing', async () => {
  const tenant = await service.tenant();
  await post(eventOf(), tenant.key);
  const release = await holdHeads(tenant.id);
  const accepted = post(eventOf(named('too late')), tenant.key);
  await expect.poll(waitingSessions).toBe(1);
  const revoke = 'UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1';
  await service.owner.query(revoke, [tenant.id]);
  await release();
  expect((await accepted).status).toBe(401);
  expect(await storedNames(tenant.id)).toEqual(['Support']);
});

test('a key that expires while its event waits records nothing', async () => {
  const tenant = await service.tenant();
  const { body } = await service.call({
    method: 'POST',
    url: `/api/tenants/${tenant.id}/api-keys`,
    body: {
      name: 'short',
      scopes: ['events:write'],
      expiresAt: new Date(service.clock.now + 1_000).toISOString(),
    },
  });
  expect((await post(eventOf(), body.key)).status).toBe(201);
  const release = await holdHeads(tenant.id);
  const accepted = post(eventOf(), body.key);
  await expect.poll(waitingSessions).toBe(1);
  service.clock.now += 1_000;
  await release();
  expect((await accepted).status).toBe(401);
  expect((await post(eventOf(), body.key)).status).toBe(401);
  expect(await storedNames(tenant.id)).toEqual(['Support']);
});

test('partitions of any age are made on demand, also by many requests of two services at once', async () => {
  const { app } = await further();
  const tenants = await Promise.all(Array.from({ length: 3 }, () => service.tenant()));
  const monthMs = 30.5 * 86_400_000;
  const months = Array.from({ length: 60 }, (_, n) => service.clock.now - (n + 2) * monthMs);
  const answers = await Promise.all(
    months.map((timeMs, n) => {
      const event = eventOf({ timestamp: new Date(timeMs).toISOString() });
      return post(event, tenants[n % 3]?.key, n % 2 === 0 ? app : service.app);
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(months.map(() => 201));
  for (const { id } of tenants) await expectLogIntact(service, id);
});

test('an event whose partition was dropped behind our back is stored in a new one', async () => {
  const [before, after] = [await service.tenant(), await service.tenant()];
  const timestamp = new Date(Date.UTC(2020, 1, 3)).toISOString();
  expect((await post(eventOf({ timestamp }), before.key)).status).toBe(201);
  await service.owner.query('DROP TABLE audit_events_1000_2020');
  expect((await post(eventOf({ timestamp }), after.key)).status).toBe(201);
  await service.owner.query('DROP TABLE audit_events_1000_2020');
  const events = Array.from({ length: 20 }, () => eventOf({ timestamp }));
  const { body } = await post({ events }, (await service.tenant()).key);
  expect(body.results.map((each: { status: string }) => each.status)).toEqual(
    events.map(() => 'created'),
  );
});

test('two connections are enough: tenants are made while events fall into missing partitions', async () => {
  const { app } = await further(2);
  const tenants = await Promise.all(Array.from({ length: 4 }, () => service.tenant()));
  // The class of tenants under legal hold has no
  // partition yet, so making them makes partitions too.
  const puts = Array.from({ length: 8 }, () =>
    app.http.inject({
      method: 'PUT',
      url: `/api/tenants/${randomUUID()}`,
      headers: { authorization: `Bearer ${platformKey}` },
      payload: { name: 'Held', plan: 'Enterprise', legalHold: true },
    }),
  );
  const posts = Array.from({ length: 24 }, (_, n) => {
    const timestamp = new Date(Date.UTC(2020, 6 + n, 15)).toISOString();
    return post(eventOf({ timestamp }), tenants[n % 4]?.key, app);
  });
  expect((await Promise.all(puts)).map((each) => each.statusCode)).toEqual(puts.map(() => 201));
  expect((await Promise.all(posts)).map(({ status }) => status)).toEqual(posts.map(() => 201));
});

test('two processes that record for the same tenants at once fork no log, and number without a gap', async () => {
  const { app } = await further();
  const tenants = await Promise.all(Array.from({ length: 8 }, () => service.tenant()));
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, n) =>
      post(eventOf(), tenants[n % 8]?.key, n % 3 === 0 ? app : service.app),
    ),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  for (const { id } of tenants) {
    const own = answers.filter(({ body }) => body.tenantId === id);
    const sequences = own.map(({ body }) => body.sequence).toSorted((one, two) => one - two);
    expect(sequences).toEqual(sequences.map((_, n) => (sequences[0] ?? 0) + n));
    await expectLogIntact(service, id);
  }
});

test('when the clock goes back, receive times stand still instead', async () => {
  const tenant = await service.tenant();
  const before = await post(eventOf(), tenant.key);
  service.clock.now -= 3_600_000;
  const after = await post(eventOf(), tenant.key);
  service.clock.now += 3_600_000;
  expect(after.status).toBe(201);
  expect(after.body.receivedAt).toBe(before.body.receivedAt);
  expect(Date.parse(after.body.timestamp)).toBeLessThan(Date.parse(before.body.timestamp));
  await expectLogIntact(service, tenant.id);
});

test('events of one tenant that come over one connection are sequenced in the order in which they came', async () => {
  const tenant = await service.tenant();
  await post(eventOf(), tenant.key);
  const { app } = await further();
  const { port } = new URL(await app.http.listen({ host: '127.0.0.1', port: 0 }));
  const requests = Array.from({ length: 60 }, (_, n) => {
    const body = JSON.stringify(eventOf({ ...named(`event ${n}`), tenantId: tenant.id }));
    const length = Buffer.byteLength(body);
    const head = `POST /api/audit-logs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${platformKey}\r\n`;
    return `${head}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
  });
  const socket = connect(Number(port), '127.0.0.1');
  let answered = '';
  socket.on('data', (chunk) => {
    answered += chunk;
  });
  socket.write(requests.join(''));
  await expect.poll(() => answered.match(/HTTP\/1.1 201/g)?.length).toBe(60);
  socket.destroy();
  const sequences = [...answered.matchAll(/"sequence":(\d+)/g)].map((match) => Number(match[1]));
  expect(sequences).toEqual(Array.from({ length: 60 }, (_, n) => (sequences[0] ?? 0) + n));
  expect((await storedNames(tenant.id)).slice(1)).toEqual(requests.map((_, n) => `event ${n}`));
});

/** An event as it joins the queue, of this tenant and moment. */
function prepared(tenantId: string, timeMs: number): PreparedEvent {
  const id = '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a';
  const actor = { actorId: id, actorEmail: null, actorRole: 'admin', actorIp: null };
  const resource = { resourceType: 'queue', resourceId: id, resourceName: null };
  const more = { diff: '{}', crossTenant: false, reason: null, before: null, after: null };
  const recordedBy = { recordedByKind: 'api_key', recordedById: id } as const;
  const what = { action: 'update', category: 'configuration', actorUserAgent: null };
  const uuid = eventUuid(timeMs, randomBytes(10));
  const first = { context: null, contextIdentity: null };
  const event = {
    tenantId,
    uuid,
    ...actor,
    ...resource,
    ...what,
    ...recordedBy,
    ...more,
    ...first,
  };
  return prepare(event, (data) => hash('sha256', data, 'buffer'), randomBytes);
}

test('one tenant with 8,000 queued events does not starve a single event of another', async () => {
  const [busy, quiet] = [await service.tenant(), await service.tenant()];
  const { groupCommit } = service.app;
  const thousands = Array.from({ length: 8 }, () =>
    Array.from({ length: 1_000 }, () => prepared(busy.id, service.clock.now)),
  );
  let finished = 0;
  const recorded = thousands.map((events) =>
    groupCommit.record(events, null).finally(() => finished++),
  );
  expect([groupCommit.depth().events, groupCommit.isBusy()]).toEqual([8_000, true]);
  expect((await post(eventOf({ tenantId: quiet.id }))).status).toBe(201);
  expect(finished).toBeLessThan(4);
  for (const outcomes of await Promise.all(recorded)) {
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['created']));
  }
  await groupCommit.drained();
  expect(groupCommit.isBusy()).toBe(false);
  const size = 'SELECT size::int FROM log_heads WHERE tenant_id = $1';
  expect((await service.owner.query(size, [busy.id])).rows[0].size).toBe(8_000 + 2);
});
