import { randomUUID } from 'node:crypto';
import { codeOf } from '@indelible/testing/answers';
import { Browser, viewerToken } from '@indelible/testing/browser';
import { recordAll } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, platformKey, testService, whileUnrecordable } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { afterAll, expect, test } from 'vitest';

const operator = { id: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };
const person = { id: randomUUID(), email: 'ana@example.com', role: 'admin' };
const reason = 'Ticket 4711: Prüfung 監査 🔎';

let tenant: { id: string; key: string };
let other: { id: string; key: string };

const service = await testService({ AUTH_JWT_SECRET: jwtSecret });
[tenant, other] = [await service.tenant(), await service.tenant()];
await recordAll(service, tenant.key, [eventOf()]);
const listed = await service.call({ url: '/api/audit-logs?action=update', key: tenant.key });
const eventId = listed.body.data[0].id;
afterAll(async () => {
  await expectLogIntact(service, tenant.id);
  await expectLogIntact(service, other.id);
});

function tokenOf(
  { id, ...claims }: { id: string } & Record<string, unknown>,
  more: Record<string, unknown> = {},
): Promise<string> {
  return token({ sub: id, ...claims, ...more }, service.clock.now);
}

async function signIn(body: unknown) {
  const visitor = new Browser(service.app);
  return { visitor, answer: await visitor.signIn(body) };
}

/** What the tenant reads of operators in its log, oldest first, with states. */
async function visits(of = tenant) {
  const url = '/api/audit-logs?cross_tenant=true&sort=sequence&limit=500';
  const { body } = await service.call({ url, key: of.key });
  const whole = [];
  for (const { id } of body.data) {
    whole.push((await service.call({ url: `/api/audit-logs/${id}`, key: of.key })).body);
  }
  return whole;
}

test("an admin's token opens the panel of its own tenant, and of no other", async () => {
  const jwt = await tokenOf(person, { tenantId: tenant.id });
  for (const tenantId of [undefined, null, tenant.id, tenant.id.toUpperCase()]) {
    const { answer, visitor } = await signIn({ jwt, tenantId });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ actor: person, tenant: { id: tenant.id }, path: null });
    const event = await visitor.call({ url: `/api/audit-logs/${eventId}` });
    expect(event.status).toBe(200);
  }
  const elsewhere = await signIn({ jwt, tenantId: other.id });
  expect(codeOf(elsewhere.answer)).toEqual([403, 'forbidden']);
  expect(await visits()).toEqual([]);
});

test('a text that is no token of the host product opens nothing', async () => {
  const expiredFor = (seconds: number) => ({
    exp: Math.floor(service.clock.now / 1_000) - seconds,
  });
  const own = { tenantId: tenant.id };
  const jwts: [string, (string | number)[]][] = [
    ['nonsense', [401, 'unauthenticated']],
    [platformKey, [401, 'unauthenticated']],
    [tenant.key, [401, 'unauthenticated']],
    [`${await tokenOf(person, own)}x`, [401, 'unauthenticated']],
    [await tokenOf(person, { ...own, ...expiredFor(60) }), [401, 'unauthenticated']],
    // Calls still take it, but the session would be over at once.
    [await tokenOf(person, { ...own, ...expiredFor(3) }), [401, 'unauthenticated']],
    [await tokenOf(person), [401, 'unauthenticated']],
    [await tokenOf({ ...person, role: 'agent' }, own), [403, 'forbidden']],
    [await tokenOf(person, { tenantId: randomUUID() }), [404, 'not_found']],
  ];
  for (const [jwt, code] of jwts) {
    const { answer, visitor } = await signIn({ jwt });
    expect(codeOf(answer)).toEqual(code);
    expect(visitor.received).toEqual([]);
    expect(answer.text).not.toContain(jwt);
  }
});

test('where no tokens are taken, none opens the panel', async () => {
  const without = await testService();
  try {
    const jwt = await tokenOf(person, { tenantId: tenant.id });
    const answer = await new Browser(without.app).signIn({ jwt });
    expect(codeOf(answer)).toEqual([401, 'unauthenticated']);
  } finally {
    await without.close();
  }
});

function thingAt(url: string): string {
  if (url.endsWith('/checkpoint')) return 'log';
  return url.includes('?') ? 'events' : 'event';
}

/** The two ways in which an operator comes into the panel. */
const ways = {
  jwt: async () => await signIn({ jwt: await tokenOf(operator), tenantId: tenant.id, reason }),
  viewer_link: async () => {
    const input = { tenantId: tenant.id, actor: operator, reason };
    return signIn({ token: await viewerToken(service.app, input) });
  },
};

test.each(['jwt', 'viewer_link'] as const)(
  'by %s an operator declares a reason once, and each read is recorded with it',
  async (way) => {
    const { answer, visitor } = await ways[way]();
    expect(answer.body).toMatchObject({ actor: operator, crossTenant: true, reason });
    const before = (await visits()).length;
    const urls = [
      '/api/audit-logs?user=ana%40example.com',
      '/api/audit-logs/stats?group_by=action',
      `/api/audit-logs/${eventId}`,
      `/api/audit-logs/${eventId}/proof`,
      '/api/audit-logs/checkpoint',
      '/api/audit-logs/nonsense',
    ];
    for (const url of urls) await visitor.call({ url, headers: { 'user-agent': 'Panel/1' } });
    // The event and its proof are one look.
    const looks = urls.filter((url) => !url.endsWith('/proof'));
    const records = (await visits()).slice(before);
    const email = way === 'jwt' ? 'token' : 'viewer_link';
    expect(records).toMatchObject(
      looks.map((url) => ({
        actor: { ...operator, userAgent: 'Panel/1' },
        action: 'access',
        resource: { type: 'audit_log', id: tenant.id },
        crossTenant: true,
        category: 'cross_tenant',
        reason,
        recordedBy: { kind: 'service' },
        after: {
          outcome: 'answered',
          lookedAt: thingAt(url),
          emailAttestedBy: email,
        },
      })),
    );
    // Asking who is signed in reads nothing of the tenant's.
    await visitor.call({ url: '/api/session' });
    expect(await visits()).toHaveLength(before + looks.length);
  },
);

test("an operator's sign-in is in the tenant's log before the panel opens", async () => {
  const before = (await visits()).length;
  await ways.jwt();
  const [login, ...more] = (await visits()).slice(before);
  expect(more).toEqual([]);
  expect(login).toMatchObject({
    actor: operator,
    action: 'login',
    resource: { type: 'session' },
    reason,
    after: { signedInBy: 'jwt' },
  });
});

test("an operator's session stays with its tenant and its reason, whatever headers say", async () => {
  const { visitor } = await ways.jwt();
  const url = '/api/audit-logs';
  const elsewhere = await visitor.call({ url, headers: { 'x-tenant-id': other.id } });
  expect(codeOf(elsewhere)).toEqual([403, 'forbidden']);
  const headers = {
    'x-tenant-id': tenant.id,
    'x-access-reason': 'another%20one',
    'x-operator-email': 'somebody.else@example.com',
  };
  expect((await visitor.call({ url, headers })).status).toBe(200);
  const last = (await visits()).at(-1);
  expect([last.reason, last.actor.email]).toEqual([reason, operator.email]);
  expect(await visits(other)).toEqual([]);
});

test('an operator without a tenant or a reason is refused; the tenant sees a missing reason', async () => {
  const jwt = await tokenOf(operator);
  const nowhere = await signIn({ jwt, reason });
  expect(codeOf(nowhere.answer)).toEqual([422, 'validation_failed']);
  expect(nowhere.answer.body.errors[0].path).toBe('/tenantId');
  const unknown = await signIn({ jwt, tenantId: randomUUID(), reason });
  expect(codeOf(unknown.answer)).toEqual([404, 'not_found']);
  const before = (await visits()).length;
  const reasons = [undefined, null, '', ' \u200b ', 'a\tb', 'x'.repeat(1_001)];
  for (const wrong of reasons) {
    const { answer, visitor } = await signIn({ jwt, tenantId: tenant.id, reason: wrong });
    expect(codeOf(answer)).toEqual([403, 'reason_required']);
    expect(visitor.received).toEqual([]);
  }
  const records = (await visits()).slice(before);
  expect(records).toHaveLength(reasons.length);
  for (const record of records) {
    expect(record).toMatchObject({ actor: operator, action: 'login_failed', reason: null });
    expect(JSON.stringify(record)).not.toContain(jwt);
  }
});

test('an operator whose token names no e-mail address is recorded without one', async () => {
  const jwt = await tokenOf({ ...operator, email: null });
  const { visitor, answer } = await signIn({ jwt, tenantId: tenant.id, reason });
  expect(answer.body.actor.email).toBe(null);
  await visitor.call({ url: '/api/audit-logs' });
  const last = (await visits()).at(-1);
  expect([last.actor.email, last.after.emailAttestedBy]).toEqual([null, null]);
});

test('while the read of a session cannot be recorded, nothing is shown', async () => {
  const { visitor } = await ways.jwt();
  await whileUnrecordable(service, async () => {
    const answer = await visitor.call({ url: '/api/audit-logs' });
    expect(codeOf(answer)).toEqual([503, 'unavailable']);
    expect(answer.text).not.toContain('evt_audit_');
  });
});
