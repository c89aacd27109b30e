import { hash } from 'node:crypto';
import {
  commitmentOfBody,
  parseBodyLine,
  parseEventProof,
  uuidFromEventId,
} from '@indelible/protocol';
import { configOf, envOf } from '@indelible/testing/archived';
import {
  actorOf,
  ana,
  ben,
  eraseNow,
  nilId,
  readEvent,
  recordEach,
  requester,
} from '@indelible/testing/erasure-setup';
import { recordingService } from '@indelible/testing/recording';
import { change, partitionFor } from '@indelible/testing/retention-setup';
import { eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { tenantFolder } from '../archive/layout.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { withOwnerSession } from '../postgres/db.ts';
import { takeRetentionLock } from '../retention/terms.store.ts';
import { eraseNow as eraseIn } from './command.ts';

const { service, tenant } = await recordingService();

const sha = (data: Uint8Array) => hash('sha256', data, 'buffer');
const states = { before: { pin: 'former pin' }, after: { pin: 'later pin' } };
const erased = { email: null, ip: null, userAgent: null };

async function erasures(tenantId: string) {
  const { rows } = await service.owner.query(
    `SELECT sequence::int, actor_email, reason, after, cross_tenant FROM audit_events
     WHERE tenant_id = $1 AND action = 'erase' ORDER BY sequence`,
    [tenantId],
  );
  return rows;
}

test('a leaked secret in a state goes for good, and the log still holds', async () => {
  const [event] = await recordEach(service, tenant.key, [states]);
  const target = { tenantId: tenant.id, eventId: event.id, segment: 'state' } as const;
  const outcome = await eraseNow(service, target);
  expect(outcome.erasures).toMatchObject([{ segment: 'state', events: 1 }]);
  expect(await readEvent(service, tenant.key, event.id)).toEqual({
    ...withoutAnswer(event),
    before: null,
    after: null,
    hasState: true,
    erased: ['state'],
  });
  const { rows } = await service.owner.query('SELECT audit_events::text AS row FROM audit_events');
  expect(rows.filter(({ row }) => /former pin|later pin/.test(row))).toEqual([]);
});

test('an erased change keeps neither fields nor reason', async () => {
  const [event] = await recordEach(service, tenant.key, [{ reason: 'password is hunter2' }]);
  await eraseNow(service, { tenantId: tenant.id, eventId: event.id, segment: 'change' });
  expect(await readEvent(service, tenant.key, event.id)).toMatchObject({
    diff: {},
    reason: null,
    erased: ['change'],
    actor: event.actor,
  });
});

test('an erased event still has a proof, which opens everything but what is gone', async () => {
  const [event] = await recordEach(service, tenant.key, [states]);
  await eraseNow(service, { tenantId: tenant.id, eventId: event.id, segment: 'state' });
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  const { text } = await service.call({
    url: `/api/audit-logs/${event.id}/proof`,
    key: tenant.key,
  });
  const { body, commitment, leafHash } = parseEventProof(text);
  expect(Buffer.from(commitmentOfBody(sha, body))).toEqual(Buffer.from(commitment));
  expect(Buffer.from(leafHash).toString('hex')).toBe(event.leafHash);
  expect(body.hashes.map((each) => each !== null)).toEqual([false, false, false, true, true]);
  expect(body.salts.map((each) => each !== null)).toEqual([true, false, true, false, false]);
  const lines = await bodyLines();
  expect(lines.map((line) => parseBodyLine(line).event.id)).toContain(event.id);
});

async function bodyLines() {
  await service.app.checkpoints.tick();
  const { text: note } = await service.call({ url: '/api/audit-logs/checkpoint', key: tenant.key });
  const [, logId] = /\/l\/([0-9a-f]{32})\n/.exec(note) ?? [];
  const { text } = await service.call({ url: `/l/${logId}/events`, key: tenant.key });
  return text.trim().split('\n');
}

test('a person is erased in every event they acted in, by id or by address, and no other person', async () => {
  const [own, second, other] = await recordEach(service, tenant.key, [
    { actor: actorOf(ana, 'Ana@Example.com') },
    { actor: actorOf(ana, 'ana@second.example'), reason: 'kept' },
    { actor: actorOf(ben, 'ben@example.com') },
  ]);
  await eraseNow(service, { tenantId: tenant.id, actor: 'ANA@example.com' });
  for (const event of [own, second]) {
    expect(await readEvent(service, tenant.key, event.id)).toEqual({
      ...withoutAnswer(event),
      actor: { ...event.actor, ...erased },
      resource: { ...event.resource, name: null },
      erased: ['identity'],
    });
  }
  expect(await readEvent(service, tenant.key, other.id)).toEqual(withoutAnswer(other));
  const { body } = await service.call({
    url: '/api/audit-logs?user=ana@example.com&include=total',
    key: tenant.key,
  });
  expect(body.data).toEqual([]);
});

test('a person is erased by their own id, also if that is their address', async () => {
  const externalId = 'Ana@Example.com';
  const [own, other, third] = await recordEach(service, tenant.key, [
    { actor: { externalId, role: 'admin' } },
    { actor: actorOf(ben, 'ben@example.com'), onBehalfOf: [{ externalId }] },
    { actor: { externalId: 'user_123', role: 'admin' } },
  ]);
  await eraseNow(service, { tenantId: tenant.id, actor: 'ana@example.com' });
  for (const { id } of [own, other]) {
    const event = await readEvent(service, tenant.key, id);
    expect(event.erased).toEqual(['identity']);
    expect(JSON.stringify(event)).not.toMatch(/ana@/i);
  }
  const { rows } = await service.owner.query(
    `SELECT FROM audit_events WHERE audit_events::text ILIKE '%ana@%' AND tenant_id = $1`,
    [tenant.id],
  );
  expect(rows).toEqual([]);
  await eraseNow(service, { tenantId: tenant.id, actor: 'user_123' });
  expect((await readEvent(service, tenant.key, third.id)).erased).toEqual(['identity']);
});

test('a person is erased where an agent acted for them, also if they never acted themselves', async () => {
  const person = { id: ben, email: 'Ben@Example.com', name: 'Ben', externalId: 'user_7' };
  const other = { id: nilId.replace('0', '1'), email: 'eve@example.com', role: 'admin' };
  const [event, operators] = await recordEach(service, tenant.key, [
    { onBehalfOf: [other, person], outcome: 'success' },
    { onBehalfOf: [person], actor: actorOf(ana, 'olga@example.com', 'superadmin'), reason: 'x' },
  ]);
  await eraseNow(service, { tenantId: tenant.id, actor: 'ben@example.com' });
  expect(await readEvent(service, tenant.key, event.id)).toEqual({
    ...withoutAnswer(event),
    actor: { ...event.actor, ...erased },
    resource: { ...event.resource, name: null },
    onBehalfOf: [{ id: other.id, role: 'admin' }, { id: ben }],
    erased: ['identity'],
  });
  expect(await readEvent(service, tenant.key, operators.id)).toEqual(withoutAnswer(operators));
  const { rows } = await service.owner.query(
    'SELECT on_behalf_of FROM audit_events WHERE tenant_id = $1 AND id::text LIKE $2',
    [tenant.id, `${uuidFromEventId(event.id)}`],
  );
  expect(rows).toEqual([{ on_behalf_of: [other.id, ben].toSorted() }]);
});

test('an erased context leaves neither its fields nor what searches compare', async () => {
  const context = {
    outcome: 'denied',
    correlationId: 'req-1',
    metadata: { leaked: 's3cr3t-word' },
  };
  const onBehalfOf = [{ id: ben, email: 'ben@example.com', type: 'user' }];
  const [event] = await recordEach(service, tenant.key, [{ ...context, onBehalfOf }]);
  await eraseNow(service, { tenantId: tenant.id, eventId: event.id, segment: 'context' });
  const { outcome, correlationId, metadata, ...rest } = withoutAnswer(event);
  expect(await readEvent(service, tenant.key, event.id)).toEqual({
    ...rest,
    onBehalfOf: [{ email: 'ben@example.com' }],
    erased: ['context'],
  });
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  const { rows } = await service.owner.query(
    `SELECT audit_events::text AS row FROM audit_events WHERE tenant_id = $1`,
    [tenant.id],
  );
  const left = rows.filter(({ row }) => /s3cr3t-word|req-1|ben@example/.test(row));
  expect(left).toEqual([]);
});

test('people without an id whom others act for are erased by their address', async () => {
  const of = (id: string) => ({ onBehalfOf: [{ id, email: 'Ben@example.com', name: 'Ben' }] });
  const [known, unknown, other] = await recordEach(service, tenant.key, [
    of(ben),
    of(nilId),
    { onBehalfOf: [{ id: nilId, email: 'other@example.com' }] },
  ]);
  await eraseNow(service, { tenantId: tenant.id, eventId: known.id, segment: 'context' });
  await eraseNow(service, { tenantId: tenant.id, actor: 'ben@example.com' });
  for (const { id } of [known, unknown]) {
    const { erased, onBehalfOf = [] } = await readEvent(service, tenant.key, id);
    expect(erased).toContain('identity');
    expect(JSON.stringify(onBehalfOf)).not.toMatch(/ben/i);
  }
  expect(await readEvent(service, tenant.key, other.id)).toEqual(withoutAnswer(other));
});

test('the log says who erased what and why, and does not repeat whom', async () => {
  await recordEach(service, tenant.key, [{}, {}]);
  await eraseNow(service, { tenantId: tenant.id, actor: 'ana@example.com' });
  const [record] = await erasures(tenant.id);
  expect(record).toMatchObject({
    actor_email: requester.operatorEmail,
    reason: requester.reason,
    cross_tenant: true,
    after: { segment: 'identity', actors: [ana], events: [], size: record.sequence, count: 2 },
  });
  expect(JSON.stringify(record)).not.toContain('ana@example.com');
});

test('failed sign-ins under an address are erased one by one, those of others stay', async () => {
  const failed = (email: string) => ({ actor: actorOf(nilId, email), action: 'login_failed' });
  const [own, other] = await recordEach(service, tenant.key, [
    failed('ana@example.com'),
    failed('ben@example.com'),
  ]);
  await eraseNow(service, { tenantId: tenant.id, actor: 'ana@example.com' });
  expect((await readEvent(service, tenant.key, own.id)).actor).toMatchObject(erased);
  expect((await readEvent(service, tenant.key, other.id)).actor.email).toBe('ben@example.com');
  expect((await erasures(tenant.id))[0].after).toMatchObject({ actors: [], events: [own.id] });
});

test('the identity of an operator cannot be erased', async () => {
  const operator = actorOf(ben, 'olga@example.com', 'superadmin');
  const [asOperator] = await recordEach(service, tenant.key, [{ actor: operator, reason: 'help' }]);
  for (const actor of [ben, 'olga@example.com']) {
    await expect(eraseNow(service, { tenantId: tenant.id, actor })).rejects.toThrow(/operator/);
  }
  // Who is both is erased only where they acted as anybody else.
  await recordEach(service, tenant.key, [{ actor: actorOf(ben, 'olga@example.com') }]);
  await eraseNow(service, { tenantId: tenant.id, actor: ben });
  expect((await readEvent(service, tenant.key, asOperator.id)).actor.email).toBe(
    'olga@example.com',
  );
});

test('records of the log about itself cannot be erased', async () => {
  const { body } = await service.call({ url: '/api/audit-logs?resource=tenant', key: tenant.key });
  const target = { tenantId: tenant.id, eventId: body.data[0].id, segment: 'state' } as const;
  await expect(eraseNow(service, target)).rejects.toThrow(
    /records a removal, and verifiers need it/,
  );
});

test('under legal hold nothing is erased, also not the rest of what was begun', async () => {
  const [event] = await recordEach(service, tenant.key, [{}]);
  const target = { tenantId: tenant.id, actor: ana };
  const betweenBatches = () => {
    throw new Error('cut off');
  };
  await expect(eraseNow(service, target, { betweenBatches })).rejects.toThrow('cut off');
  await change(service, tenant, { legalHold: true });
  await expect(eraseNow(service, target)).rejects.toThrow(/legal hold/);
  expect(await readEvent(service, tenant.key, event.id)).toEqual(withoutAnswer(event));
  expect(await erasures(tenant.id)).toHaveLength(1);
  await change(service, tenant, { legalHold: false });
  await eraseNow(service, target);
  expect((await readEvent(service, tenant.key, event.id)).erased).toEqual(['identity']);
});

test('an erasure that was cut off between two batches goes on with the next run', async () => {
  const bodies = Array.from({ length: 700 }, () => eventOf());
  await service.call({
    method: 'POST',
    url: '/api/audit-logs/batch',
    key: tenant.key,
    body: { events: bodies },
  });
  let batches = 0;
  const betweenBatches = () => {
    batches += 1;
    if (batches === 2) throw new Error('cut off');
  };
  const target = { tenantId: tenant.id, actor: 'ana@example.com' };
  await expect(eraseNow(service, target, { betweenBatches })).rejects.toThrow('cut off');
  expect(await countErased()).toBe(500);
  // Whatever is asked for next: what is on record is carried through first.
  const [later] = await recordEach(service, tenant.key, [{ ...states, actor: actorOf(ben, null) }]);
  await eraseNow(service, { tenantId: tenant.id, eventId: later.id, segment: 'state' });
  expect(await countErased()).toBe(701);
});

test.each(['change', 'state'] as const)(
  'an erased %s whose copy in the archive was out of reach goes from there when the command is repeated',
  async (segment) => {
    const [event] = await recordEach(service, tenant.key, [{ ...states, reason: 'pin' }]);
    const target = { tenantId: tenant.id, eventId: event.id, segment };
    const objects = openObjectStore(configOf(service).objectStoreUrl);
    const list = () => Promise.reject(new Error('the object store is away'));
    const away = { objects: { ...objects, list } };
    await expect(eraseNow(service, target, away)).rejects.toThrow('away');
    const reached: string[] = [];
    const seen = async (folder: string) => {
      reached.push(folder);
      return objects.list(folder);
    };
    await eraseNow(service, target, { objects: { ...objects, list: seen } });
    expect(reached).toEqual([tenantFolder(tenant.id)]);
    expect(await erasures(tenant.id)).toHaveLength(1);
    await expect(eraseNow(service, target)).rejects.toThrow('erased already');
  },
);

test('no caller is told that there is nothing to erase while retention holds events back', {
  tags: 'plain',
}, async () => {
  const starter = await service.tenant('Starter');
  const [event] = await recordEach(service, starter.key, [
    { ...states, actor: actorOf(ben, null) },
  ]);
  const { rows } = await service.owner.query<{ name: string }>(
    'SELECT DISTINCT tableoid::regclass::text AS name FROM audit_events WHERE tenant_id = $1',
    [starter.id],
  );
  const name = rows[0]?.name ?? '';
  await service.owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} CONCURRENTLY`);
  const targets = [
    { tenantId: starter.id, actor: ben },
    { tenantId: starter.id, eventId: event.id, segment: 'state' },
  ] as const;
  for (const target of targets) {
    await expect(eraseNow(service, target)).rejects.toThrow('retention is removing a partition');
  }
  await partitionFor(service, starter, service.clock.now);
  for (const target of targets) {
    expect((await eraseNow(service, target)).erasures).toMatchObject([{ events: 1 }]);
  }
});

test('an erasure is not done while the host product is still to be sent what is erased', async () => {
  const [event] = await recordEach(service, tenant.key, [states]);
  const id = '0198a3c4-5b6d-7e8f-9012-3456789abcde';
  await service.owner.query(
    `INSERT INTO restores (tenant_id, id, event_id, resource_type, resource_id, target, requested_at,
       requested_by_id, requested_by_role, body)
     VALUES ($1, $2, $2, 'queue', $2, 'before', now(), $2, 'admin', '{"before":{"pin":"1234"}}')`,
    [tenant.id, id],
  );
  const target = { tenantId: tenant.id, eventId: event.id, segment: 'state' } as const;
  await expect(eraseNow(service, target)).rejects.toThrow(/a restore .* is pending/);
  await service.owner.query(
    `UPDATE restores SET status = 'applied', body = NULL, finished_at = now() WHERE tenant_id = $1`,
    [tenant.id],
  );
  expect((await eraseNow(service, target)).erasures).toHaveLength(1);
  expect(await erasures(tenant.id)).toHaveLength(1);
});

async function countErased() {
  const { rows } = await service.owner.query(
    'SELECT count(*)::int AS count FROM audit_events WHERE tenant_id = $1 AND erased IS NOT NULL',
    [tenant.id],
  );
  return rows[0].count;
}

test('while retention or another erasure runs nothing is erased', async () => {
  const [event] = await recordEach(service, tenant.key, [states]);
  const target = { tenantId: tenant.id, eventId: event.id, segment: 'state' } as const;
  await withOwnerSession(service.ownerUrl, async (running) => {
    await takeRetentionLock(running);
    await expect(eraseNow(service, target)).rejects.toThrow(/another erasure is running/);
  });
  expect((await eraseNow(service, target)).erasures).toMatchObject([{ events: 1 }]);
});

test('events of another tenant by the same person stay as they are', async () => {
  const other = await service.tenant();
  const [event] = await recordEach(service, other.key, [{}]);
  await recordEach(service, tenant.key, [{}]);
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  expect(await readEvent(service, other.key, event.id)).toEqual(withoutAnswer(event));
  const target = { tenantId: tenant.id, eventId: event.id, segment: 'change' } as const;
  await expect(eraseNow(service, target)).rejects.toThrow(/has no event/);
});

test('an erased event does not come back by being sent again', async () => {
  const id = { id: (await recordEach(service, tenant.key, [{ ...states }]))[0].id };
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  await eraseNow(service, { tenantId: tenant.id, eventId: id.id, segment: 'state' });
  const again = (changes: Record<string, unknown>) =>
    service.call({
      method: 'POST',
      url: '/api/audit-logs',
      key: tenant.key,
      body: eventOf({ ...id, ...changes }),
    });
  const same = await again(states);
  expect([same.status, same.body.actor.email, same.body.erased]).toEqual([
    ...[200, null],
    ['identity', 'state'],
  ]);
  expect((await again({ ...states, action: 'delete' })).status).toBe(409);
});

test('a login that serves requests can erase nothing', async () => {
  await recordEach(service, tenant.key, [{}]);
  const target = { tenantId: tenant.id, actor: ana };
  const env = { ...envOf(service), DATABASE_OWNER_URL: service.servingUrl };
  const asServing = eraseIn(env, target, requester);
  await expect(asServing).rejects.toThrow(/permission denied/);
  for (const table of ['erasures', 'offboardings']) {
    for (const pool of [service.db.reader, service.db.writer]) {
      await expect(pool.query(`SELECT FROM ${table}`)).rejects.toThrow(/permission denied/);
    }
  }
  const change = "UPDATE audit_events SET erased = '{}'";
  await expect(service.db.writer.query(change)).rejects.toThrow(/permission denied/);
});

test('an operator who reads sees the same', async () => {
  const [event] = await recordEach(service, tenant.key, [{}]);
  await eraseNow(service, { tenantId: tenant.id, actor: ana });
  const headers = { 'x-tenant-id': tenant.id, 'x-access-reason': 'check' };
  const { body } = await service.call({
    url: '/api/audit-logs?resource=queue&sort=user',
    key: platformKey,
    headers,
  });
  expect(body.data).toMatchObject([{ id: event.id, actor: erased, erased: ['identity'] }]);
});

function withoutAnswer({ leafHash, warnings, warningPaths, ...event }: Record<string, unknown>) {
  return event;
}
