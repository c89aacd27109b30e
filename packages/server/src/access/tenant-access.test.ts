import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { codeOf } from '@indelible/testing/answers';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import {
  type Answer,
  eventOf,
  platformKey,
  testService,
  whileUnrecordable,
} from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import pg from 'pg';
import { expect, test } from 'vitest';

type Sent = Record<string, string | string[]>;
const reasoned = { 'x-access-reason': 'x' };
const operator = { sub: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };

let tenant: { id: string; key: string };

const service = await testService({ AUTH_JWT_SECRET: jwtSecret });
tenant = await service.tenant();
await recordAll(service, tenant.key, poolEvents(30, service.clock.now, 20));
const listed = await service.call({ url: '/api/audit-logs?limit=1', key: tenant.key });
const eventId = listed.body.data[0].id;
// The clock moves by a quarter of an hour with each read.
const exp = Math.floor(service.clock.now / 1_000) + 30 * 86_400;
const superadmin = await token({ ...operator, exp });
await service.app.http.listen({ port: 0, host: '127.0.0.1' });

/** Every call that reads a tenant's events. */
const reads = () => [
  '/api/audit-logs',
  '/api/audit-logs?sort=sequence&limit=5&include=total',
  '/api/audit-logs/stats?group_by=action',
  `/api/audit-logs/${eventId}`,
];

interface AccessRecord {
  actor: { id: string; email: string | null; role: string; ip: string; userAgent: string };
  resource: { type: string; id: string };
  crossTenant: boolean;
  category: string;
  reason: string | null;
  recordedBy: { kind: string };
  after: { outcome: string; lookedAt: string; emailAttestedBy: string | null };
}

/** What the tenant itself reads of operators' accesses, oldest first. */
async function accesses({ id, key }: { id: string; key: string }): Promise<AccessRecord[]> {
  const query = `action=access&resource=audit_log&resource_id=${id}&include=state&sort=sequence`;
  const { body } = await service.call({ url: `/api/audit-logs?${query}&limit=500`, key });
  return body.data;
}

/** The answer, and what it left in the tenant's log: no earlier record stands for this read. */
async function read(url: string, headers: Sent, key = superadmin, of = tenant) {
  service.clock.now += 15 * 60_000;
  const before = (await accesses(of)).length;
  const answer = await ask({ 'x-tenant-id': of.id, ...headers }, url, key);
  return { answer, records: (await accesses(of)).slice(before) };
}

const ask = (headers: Sent, url = '/api/audit-logs', key = superadmin) =>
  service.call({ url, key, headers });

test('an operator reads with a reason, and the tenant sees exactly one record of each read', async () => {
  const reason = 'Ticket 4711: Prüfung 監査 🔎';
  for (const url of reads()) {
    const headers = { 'x-access-reason': encodeURIComponent(reason), 'user-agent': 'panel/1' };
    const { answer, records } = await read(url, headers);
    expect(answer.status).toBe(200);
    expect(records).toMatchObject([
      {
        actor: {
          id: operator.sub,
          email: operator.email,
          role: 'superadmin',
          userAgent: 'panel/1',
        },
        action: 'access',
        resource: { type: 'audit_log', id: tenant.id },
        crossTenant: true,
        category: 'cross_tenant',
        reason,
        recordedBy: { kind: 'service' },
        diff: {},
        before: null,
        after: { outcome: 'answered', lookedAt: url.includes('evt_') ? 'event' : 'events' },
      },
    ]);
  }
  await expectLogIntact(service, tenant.id);
});

test('the record says what was looked for, however it was written', async () => {
  const times = 'from=2026-01-01T12:20:00%2B02:00&to=2026-01-02T00:00:00.001Z';
  const url = `/api/audit-logs?user=ANA%40example.com&action=%21create&limit=3&${times}`;
  const { records } = await read(url, reasoned);
  expect(records[0]?.after).toEqual({
    outcome: 'answered',
    lookedAt: 'events',
    // In whole quarters of an hour, so that no event outside of them can be among the answers.
    filters: {
      from: '2026-01-01T10:15:00.000Z',
      to: '2026-01-02T00:15:00.000Z',
      user: ['ana@example.com'],
      action: ['!create'],
    },
    emailAttestedBy: 'token',
  });
});

test('an answer never contains its own record', async () => {
  const url = '/api/audit-logs?action=access&resource=audit_log&include=total';
  const first = await read(url, { 'x-access-reason': 'once' });
  const second = await read(url, { 'x-access-reason': 'again' });
  const { value } = first.answer.body.pagination.total;
  expect(second.answer.body.pagination.total.value).toBe(value + 1);
  const reasons = second.answer.body.data.map((event: { reason: string }) => event.reason);
  expect(reasons).toContain('once');
  expect(reasons).not.toContain('again');
  const stats = await read('/api/audit-logs/stats?group_by=action&resource=audit_log', reasoned);
  expect(stats.answer.body.total).toBe(value + 2);
});

test('a platform key names the operator in X-Operator-Email, or no operator; a token speaks for itself', async () => {
  const headers = { 'x-access-reason': 'x', 'x-operator-email': 'Otto@operator.example' };
  const named = await read('/api/audit-logs', headers, platformKey);
  const otto = { email: 'Otto@operator.example', role: 'superadmin' };
  expect(named.records[0]?.actor).toMatchObject(otto);
  const unnamed = await read('/api/audit-logs', reasoned, platformKey);
  expect(unnamed.records[0]).toMatchObject({ actor: { email: null }, crossTenant: true });
  const forged = await read('/api/audit-logs', headers);
  expect(forged.records[0]?.actor.email).toBe(operator.email);
  const nameless = await token({ ...operator, email: undefined, exp });
  const declared = await read('/api/audit-logs', headers, nameless);
  expect(declared.records[0]?.actor.email).toBe('Otto@operator.example');
  // Whether the address is proven is part of the record.
  const all = [named, unnamed, forged, declared].map(({ records }) => records[0]?.after);
  const attested = all.map((after) => after?.emailAttestedBy);
  expect(attested).toEqual(['header', null, 'token', 'header']);
});

test('a stored platform key is an operator too', async () => {
  const body = { name: 'support', scopes: ['events:read'] };
  const made = await service.call({ method: 'POST', url: '/api/api-keys', body });
  const without = await read('/api/audit-logs', {}, made.body.key);
  expect(codeOf(without.answer)).toEqual([403, 'reason_required']);
  const { answer, records } = await read('/api/audit-logs', reasoned, made.body.key);
  expect([answer.status, records.length]).toEqual([200, 1]);
});

test.each(['superadmin', 'platform key'])('a %s must name the tenant', async (who) => {
  const key = who === 'superadmin' ? superadmin : platformKey;
  const before = (await accesses(tenant)).length;
  for (const url of reads()) {
    for (const id of [undefined, '!acme', '', [tenant.id, tenant.id]]) {
      const named = id === undefined ? {} : { 'x-tenant-id': id };
      const answer = await ask({ ...named, ...reasoned }, url, key);
      expect(codeOf(answer)).toEqual([400, 'invalid_parameter']);
      expect(answer.body.errors[0].path).toBe('X-Tenant-Id');
    }
  }
  expect(await accesses(tenant)).toHaveLength(before);
});

// operator-access.test.ts has all that is no reason.
const noReasons: [string, Sent][] = [
  ['no reason', {}],
  ['a blank one', { 'x-access-reason': '%20%E2%80%83' }],
  ['two', { 'x-access-reason': ['ticket 1', 'ticket 1'] }],
  ['1,001 characters', { 'x-access-reason': 'x'.repeat(1_001) }],
  ['broken UTF-8', { 'x-access-reason': '%C3%28' }],
];

test.each(noReasons)(
  'with %s for a reason there is no answer, and the refusal is recorded',
  async (_, headers) => {
    for (const url of reads()) {
      const { answer, records } = await read(url, headers);
      expect(codeOf(answer)).toEqual([403, 'reason_required']);
      expect(records).toHaveLength(1);
      expect(records[0]).toMatchObject({
        actor: { id: operator.sub, email: operator.email, role: 'superadmin' },
        crossTenant: true,
        outcome: 'denied',
        reason: null,
        after: { outcome: 'refused', lookedAt: url.includes('evt_') ? 'event' : 'events' },
      });
    }
  },
);

test('a wrong operator e-mail is refused and recorded, whatever the reason is', async () => {
  for (const email of ['otto', '', 'a@b.c, d@e.f', 'a@b\u0001.c']) {
    const wrong = { 'x-operator-email': email };
    const why = { ...wrong, 'x-access-reason': 'why' };
    const withReason = await read('/api/audit-logs', why, platformKey);
    expect(codeOf(withReason.answer)).toEqual([400, 'invalid_parameter']);
    expect(withReason.records).toMatchObject([
      { reason: 'why', actor: { email: null }, after: { outcome: 'refused' } },
    ]);
    const without = await read('/api/audit-logs', wrong, platformKey);
    expect(codeOf(without.answer)).toEqual([403, 'reason_required']);
    expect(without.records).toHaveLength(1);
  }
});

test('a search for what is not there is recorded like any other', async () => {
  for (const url of [
    `/api/audit-logs/${eventId.slice(0, -1)}0`,
    '/api/audit-logs/nonsense',
    "/api/audit-logs/'%00",
  ]) {
    const { answer, records } = await read(url, reasoned);
    expect(codeOf(answer)).toEqual([404, 'not_found']);
    expect(records).toHaveLength(1);
  }
});

test('a refusal that tells of the data, and a cursor that is none, are recorded as well', async () => {
  const cursor = await read('/api/audit-logs?cursor=abc', reasoned);
  expect(codeOf(cursor.answer)).toEqual([400, 'invalid_cursor']);
  expect(cursor.records).toHaveLength(1);
});

test('a call that is wrong in itself reads nothing and leaves no record', async () => {
  for (const url of ['/api/audit-logs?nonsense=1', `/api/audit-logs/${eventId}?include=state`]) {
    const { answer, records } = await read(url, reasoned);
    expect(codeOf(answer)).toEqual([400, 'unknown_parameter']);
    expect(records).toEqual([]);
  }
});

test('an unknown tenant is not found, with a reason or without', async () => {
  const headers = { 'x-tenant-id': randomUUID() };
  for (const url of reads()) {
    const answer = await ask({ ...headers, ...reasoned }, url);
    expect(codeOf(answer)).toEqual([404, 'not_found']);
  }
  const answer = await ask(headers);
  expect(codeOf(answer)).toEqual([404, 'not_found']);
});

test('a tenant reads its own log without a reason and without a trace', async () => {
  const admin = await token({
    exp,
    sub: randomUUID(),
    email: 'ana@example.com',
    role: 'admin',
    tenantId: tenant.id.toUpperCase(),
  });
  const { size } = await head();
  for (const key of [tenant.key, admin]) {
    for (const url of reads()) expect((await service.call({ url, key })).status).toBe(200);
    const other = await service.call({
      url: '/api/audit-logs',
      key,
      headers: { 'x-tenant-id': randomUUID() },
    });
    expect(codeOf(other)).toEqual([403, 'forbidden']);
  }
  expect((await head()).size).toBe(size);
});

async function head(): Promise<{ size: string }> {
  const { rows } = await service.owner.query('SELECT size FROM log_heads WHERE tenant_id = $1', [
    tenant.id,
  ]);
  return rows[0];
}

test('HEAD is a read like GET', async () => {
  const before = (await accesses(tenant)).length;
  const head = { method: 'HEAD', url: '/api/audit-logs', key: superadmin } as const;
  const headers = { 'x-tenant-id': tenant.id };
  const call = (more: Record<string, string>) =>
    service.call({ ...head, headers: { ...headers, ...more } });
  expect((await call({})).status).toBe(403);
  expect((await call({ 'x-access-reason': 'only the head' })).status).toBe(200);
  expect(await accesses(tenant)).toHaveLength(before + 2);
});

test('concurrent reads by operators leave a record each, and the log intact', async () => {
  const own = await service.tenant();
  await recordAll(service, own.key, [eventOf()]);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      ask({ 'x-tenant-id': own.id, 'x-access-reason': `read ${n}` }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
  const reasons = (await accesses(own)).map(({ reason }) => reason);
  expect(new Set(reasons)).toEqual(new Set(Array.from({ length: 12 }, (_, n) => `read ${n}`)));
  expect(reasons).toHaveLength(12);
  await expectLogIntact(service, own.id);
});

test('a user agent of bytes that are no text is recorded as it came', async () => {
  const port = Number(new URL(service.app.http.listeningOrigin).port);
  const before = (await accesses(tenant)).length;
  const lines = [
    'GET /api/audit-logs HTTP/1.1',
    'Host: x',
    'Connection: close',
    `Authorization: Bearer ${superadmin}`,
    `X-Tenant-Id: ${tenant.id}`,
    'User-Agent: \u00ff\u00fe\t\u00e9',
  ];
  const answer = await new Promise<string>((resolve, reject) => {
    const bytes = Buffer.from([...lines, '', ''].join('\r\n'), 'latin1');
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('close', () => resolve(Buffer.concat(parts).toString('latin1')));
    socket.on('error', reject);
  });
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  const [record] = (await accesses(tenant)).slice(before);
  expect(record?.actor.userAgent).toBe('\u00ff\u00fe\t\u00e9');
});

/** No bit of the tenant's data, and a time to try again. */
function expectNothingShown(answer: Answer): void {
  expect(codeOf(answer)).toEqual([503, 'unavailable']);
  expect(answer.headers['retry-after']).toMatch(/^\d+$/);
  expect(answer.text).not.toContain('evt_audit_');
  expect(answer.body).not.toHaveProperty('data');
  expect(answer.headers).not.toHaveProperty('link');
}

test('while the access cannot be recorded, nothing is shown: another transaction holds the log', async () => {
  const own = await service.tenant();
  await recordAll(service, own.key, [eventOf()]);
  const other = new pg.Client({ connectionString: service.ownerUrl });
  await other.connect();
  await other.query('BEGIN');
  await other.query('SELECT FROM indelible.log_heads WHERE tenant_id = $1 FOR UPDATE', [own.id]);
  const headers = { 'x-tenant-id': own.id, 'x-access-reason': 'x' };
  try {
    const [found, missing, refused] = await Promise.all([
      ask(headers),
      ask(headers, '/api/audit-logs/nonsense'),
      ask({ 'x-tenant-id': own.id }),
    ]);
    for (const answer of [found, missing, refused]) expectNothingShown(answer);
    // The tenant itself still reads.
    expect((await service.call({ url: '/api/audit-logs', key: own.key })).status).toBe(200);
  } finally {
    await other.query('ROLLBACK');
    await other.end();
  }
  const now = { 'x-access-reason': 'now' };
  const { records, answer } = await read('/api/audit-logs', now, superadmin, own);
  expect([answer.status, records.length]).toEqual([200, 1]);
  await expectLogIntact(service, own.id);
});

test('while the access cannot be recorded, nothing is shown: the writer may not write', async () => {
  await whileUnrecordable(service, async () => {
    for (const url of [...reads(), '/api/audit-logs/nonsense']) {
      const headers = { 'x-tenant-id': tenant.id, 'x-access-reason': 'unwritten' };
      expectNothingShown(await ask(headers, url));
    }
  });
  expect((await read('/api/audit-logs', reasoned)).answer.status).toBe(200);
});
