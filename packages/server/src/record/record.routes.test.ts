import { createHash, randomUUID } from 'node:crypto';
import { decodeEntry, eventIdFromUuid, eventUuid, uuidFromEventId } from '@indelible/protocol';
import { hostileTexts } from '@indelible/testing/arbitraries';
import { expectLogIntact } from '@indelible/testing/intact';
import { recordingService } from '@indelible/testing/recording';
import { planCutoff } from '@indelible/testing/retention-setup';
import { actorWith, eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const { service, tenant, goOnWith, record, recordBatch, read } = await recordingService({
  MASKED_KEYS: 'pukCode',
});
const { clock } = service;
clock.now = Date.UTC(2026, 5, 15, 10, 30);
const newId = (timeMs = clock.now) =>
  eventIdFromUuid(eventUuid(timeMs, crypto.getRandomValues(new Uint8Array(10))));
const iso = (timeMs: number) => new Date(timeMs).toISOString();

test('a recorded event is answered with 201, its place and its address, and is found there', async () => {
  const { status, headers, body } = await record({
    before: { maxWait: 30 },
    after: { maxWait: 60 },
  });
  expect(status).toBe(201);
  expect(headers.location).toBe(`/api/audit-logs/${body.id}`);
  expect(body).toEqual({
    ...eventOf({ before: { maxWait: 30 }, after: { maxWait: 60 } }),
    id: expect.any(String),
    timestamp: iso(clock.now),
    receivedAt: iso(clock.now),
    tenantId: tenant.id,
    crossTenant: false,
    reason: null,
    category: 'configuration',
    hasState: true,
    sequence: 2,
    recordedBy: { kind: 'api_key', id: expect.any(String) },
    leafHash: expect.any(String),
    warnings: [],
    warningPaths: {},
  });
  const { leafHash: _, warnings: __, warningPaths: ___, ...event } = body;
  const found = await service.call({ url: String(headers.location), key: tenant.key });
  expect(found.body).toEqual(event);
});

test('the leaf hash of the answer is that of the stored entry, which commits to the stored event', async () => {
  const { body } = await record({ after: { a: 1 } });
  const { rows } = await service.owner.query(
    'SELECT entry FROM log_tail WHERE tenant_id = $1 AND sequence = $2',
    [tenant.id, body.sequence],
  );
  const leaf = createHash('sha256').update(Buffer.of(0)).update(rows[0].entry).digest('hex');
  expect(body.leafHash).toBe(leaf);
  expect(decodeEntry(rows[0].entry).eventUuid).toBe(uuidFromEventId(body.id));
});

test('the same call again is answered with 200 and the same body, and adds nothing', async () => {
  const event = {
    id: newId(),
    actor: actorWith({ role: 'superadmin', userAgent: 'x'.repeat(2_000) }),
    before: { password: 'a', n: 1 },
    after: { password: 'b', n: 2 },
    diff: undefined,
  };
  const first = await record(event);
  expect(first.status).toBe(201);
  expect([...first.body.warnings].sort()).toEqual(['reason_missing', 'secret_masked', 'truncated']);
  clock.now += 1_000;
  const again = await record(event);
  expect(again.status).toBe(200);
  expect(again.text).toBe(first.text);
  expect(again.headers.location).toBe(first.headers.location);
});

test('a retry is recognised however it spells the same content', async () => {
  const id = newId();
  const first = await record({
    id,
    actor: actorWith({ email: null, ip: '2001:DB8:0::1', userAgent: '' }),
    diff: { b: { from: 1, to: 2 }, a: { from: null, to: 1.0 } },
  });
  const again = await record({
    id,
    timestamp: iso(clock.now),
    tenantId: tenant.id.toUpperCase(),
    crossTenant: false,
    actor: actorWith({ email: '', ip: '2001:db8::1', userAgent: null }),
    diff: { a: { to: 1, from: null }, b: { to: 2, from: 1 } },
    reason: '',
  });
  expect([again.status, again.text]).toEqual([200, first.text]);
});

test('a retry with a rotated key is a retry: the stored event keeps who recorded it first', async () => {
  const { body: rotated } = await service.call({
    method: 'POST',
    url: `/api/tenants/${tenant.id}/api-keys`,
    body: { name: 'rotated', scopes: ['events:write'] },
  });
  const id = newId();
  const first = await record({ id });
  const again = await record({ id }, rotated.key);
  expect([again.status, again.text]).toEqual([200, first.text]);
  const byPlatform = await record({ id, tenantId: tenant.id }, platformKey);
  expect([byPlatform.status, byPlatform.text]).toEqual([200, first.text]);
});

test('the same id with other content is a conflict, and the stored event stays as it was', async () => {
  const id = newId();
  const first = await record({ id });
  const others = [
    ...[{ reason: 'x' }, { action: 'delete' }, { diff: {} }, { after: {} }],
    ...[
      { actor: actorWith({ email: 'Ana@example.com' }) },
      { actor: actorWith({ role: 'superadmin' }) },
    ],
  ];
  for (const other of others) {
    const { status, body } = await record({ id, ...other });
    expect([status, body.code], JSON.stringify(other)).toEqual([409, 'id_conflict']);
  }
  expect((await read(id)).body).toMatchObject({ reason: null, sequence: first.body.sequence });
});

test('two tenants may use the same id: neither sees, blocks or overwrites the other', async () => {
  const other = await service.tenant();
  const id = newId();
  const first = await record({ id, reason: 'one' });
  const second = await record({ id, reason: 'other' }, other.key);
  expect([first.status, second.status]).toEqual([201, 201]);
  expect((await read(id)).body.reason).toBe('one');
  expect((await read(id, other.key)).body.reason).toBe('other');
  await expectLogIntact(service, other.id);
});

test('a retry is recognised after the tenant has changed its plan', async () => {
  await goOnWith('Pro');
  const id = newId();
  const first = await record({ id });
  for (const plan of ['Enterprise', 'Starter']) {
    const changed = await service.call({
      method: 'PUT',
      url: `/api/tenants/${tenant.id}`,
      body: { plan },
      headers: { 'x-access-reason': 'contract%20change' },
    });
    expect(changed.body.plan).toBe(plan);
    const again = await record({ id });
    expect([again.status, again.text], plan).toEqual([200, first.text]);
    expect((await record({ id, reason: 'other' })).status, plan).toBe(409);
  }
});

test('sixteen callers that record one id at once agree on one event', async () => {
  const id = newId();
  const answers = await Promise.all(Array.from({ length: 16 }, () => record({ id })));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(15).fill(200), 201]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
});

test.each(['Starter', 'Pro', 'Enterprise'] as const)(
  'an event as old as the retention of %s is taken, a millisecond older is outside',
  async (plan) => {
    await goOnWith(plan);
    const cutoff = planCutoff(plan, clock.now);
    const kept = await record({ timestamp: iso(cutoff) });
    expect([kept.status, kept.body.timestamp]).toEqual([201, iso(cutoff)]);
    for (const older of [{ timestamp: iso(cutoff - 1) }, { id: newId(cutoff - 1) }]) {
      const { status, body } = await record(older);
      expect([status, body.code]).toEqual([422, 'outside_retention']);
      expect(body.detail).toContain(plan);
    }
  },
);

test('a key of one tenant cannot record for another, and learns nothing of whether it exists', async () => {
  const other = await service.tenant();
  for (const tenantId of [other.id, randomUUID()]) {
    const { status, body } = await record({ tenantId });
    expect([status, body.code, body.detail]).toEqual([
      ...[403, 'forbidden'],
      'this credential is bound to another tenant',
    ]);
  }
  const { rows } = await service.owner.query('SELECT size FROM log_heads WHERE tenant_id = $1', [
    other.id,
  ]);
  expect(rows[0].size).toBe('2');
  await expectLogIntact(service, other.id);
});

test('a platform key records for the tenant it names, and must name one that exists', async () => {
  const { status, body } = await record({ tenantId: tenant.id.toUpperCase() }, platformKey);
  expect([status, body.tenantId, body.recordedBy.kind]).toEqual([201, tenant.id, 'api_key']);
  expect(body.recordedBy.id).not.toBe((await record()).body.recordedBy.id);
  const unnamed = await record({}, platformKey);
  expect([unnamed.status, unnamed.body.errors]).toEqual([
    422,
    [expect.objectContaining({ path: '/tenantId', code: 'required' })],
  ]);
  const unknown = await record({ tenantId: randomUUID() }, platformKey);
  expect([unknown.status, unknown.body.code]).toEqual([422, 'unknown_tenant']);
});

test('a revoked key records nothing more, neither one event nor a batch', async () => {
  expect((await record()).status).toBe(201);
  await service.owner.query('UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1', [
    tenant.id,
  ]);
  const one = await record();
  expect([one.status, one.body.code]).toEqual([401, 'unauthenticated']);
  const batch = await recordBatch([eventOf(), eventOf({ action: '' }), eventOf()]);
  expect([batch.status, batch.body.code]).toEqual([401, 'unauthenticated']);
});

test('hostile text in any field is stored and given back as it is', async () => {
  for (const text of hostileTexts) {
    const word = `w${text.replace(/[\s\p{Cc}\p{Cf}]/gu, '')}`.slice(0, 60);
    const event = {
      actor: actorWith({
        email: `${word.replaceAll('@', '')}x@example.com`,
        role: word,
        userAgent: text,
      }),
      resource: { type: 'queue', id: randomUUID(), name: text },
      diff: { [text]: { from: text, to: null } },
      reason: text,
      before: { [text]: [text] },
      after: { a: { b: text } },
    };
    const { status, body } = await record(event);
    expect(status, text).toBe(201);
    expect((await read(body.id)).body).toMatchObject(event);
  }
});

test('warnings stand beside the event and are not stored', async () => {
  const { body } = await record({
    actor: actorWith({ role: 'superadmin', email: null, userAgent: 'x'.repeat(1_025) }),
    action: 'update',
    resource: { type: 'ivr', id: randomUUID() },
    diff: { password: { from: 'a', to: 'b' } },
  });
  expect([...body.warnings].sort()).toEqual([
    ...['operator_email_missing', 'reason_missing', 'secret_masked', 'state_missing', 'truncated'],
  ]);
  expect((await read(body.id)).body).not.toHaveProperty('warnings');
});

test('configuration adds masked keys and sensitive types', async () => {
  const { body } = await record({
    resource: { type: 'ivr', id: randomUUID() },
    diff: { 'sim.puk_code': { from: null, to: '12345678' }, token: { from: null, to: 'x' } },
  });
  expect([...body.warnings].sort()).toEqual(['secret_masked', 'state_missing']);
  expect(body.diff).toEqual({
    'sim.puk_code': { from: null, to: '[masked]' },
    token: { from: null, to: '[masked]' },
  });
});

test('no secret reaches the database: neither its rows nor its log know the word', async () => {
  const secret = `s3cret-${randomUUID()}`;
  await record({
    diff: undefined,
    before: { users: [{ password: secret, deep: { apiKey: [secret] } }] },
    after: {
      users: [{ password: `${secret}2`, deep: { apiKey: null } }],
      authorization: `Bearer ${secret}`,
    },
  });
  const { rows } = await service.owner.query(
    'SELECT count(*)::int AS found FROM audit_events e WHERE e::text LIKE $1',
    [`%${secret}%`],
  );
  expect(rows[0].found).toBe(0);
});

test('a computed diff is stored and read like a sent one', async () => {
  const { body } = await record({
    diff: undefined,
    resource: { type: 'ivr', id: randomUUID() },
    before: { greeting: { text: 'Hi' }, options: [{ key: 1 }] },
    after: { greeting: { text: 'Hello' }, options: [{ key: 1 }, { key: 2 }] },
  });
  const expected = {
    'greeting.text': { from: 'Hi', to: 'Hello' },
    'options[2]': { from: null, to: 2 },
  };
  expect([body.diff, body.warnings]).toEqual([expected, []]);
  expect((await read(body.id)).body.diff).toEqual(expected);
});

test('the log counts every event once, in the order it was taken, across several tiles', async () => {
  const answers = await Promise.all(Array.from({ length: 600 }, () => record()));
  const sequences = answers.map(({ body }) => body.sequence as number);
  expect([...sequences].sort((a, b) => a - b)).toEqual(
    Array.from({ length: 600 }, (_, at) => at + 2),
  );
});
