import { randomUUID } from 'node:crypto';
import { codeOf } from '@indelible/testing/answers';
import { hostileTexts } from '@indelible/testing/arbitraries';
import { admin, Browser, ownOrigin, viewerToken } from '@indelible/testing/browser';
import { expectLogIntact } from '@indelible/testing/intact';
import { platformKey, testService, whileUnrecordable } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';

let tenant: { id: string; key: string };
let other: { id: string; key: string };

const service = await testService();
[tenant, other] = [await service.tenant(), await service.tenant()];
const url = `/api/tenants/${tenant.id}/api-keys`;
const body = { name: 'host', scopes: ['viewer-links:write'] };
/** Bound to the tenant, with the scope to make links. */
const linkKey = (await service.call({ method: 'POST', url, body })).body.key;
afterAll(() => expectLogIntact(service, tenant.id));

const operator = { id: randomUUID(), email: 'olga@operator.example', role: 'superadmin' };

function makeLink(changes: Record<string, unknown> = {}, key: string | null = platformKey) {
  const body = { tenantId: tenant.id, actor: admin(), ...changes };
  return service.call({ method: 'POST', url: '/api/viewer-links', key, body });
}

/** What the tenant reads of links, oldest first. */
async function linkEvents() {
  const url = '/api/audit-logs?resource=viewer_link&sort=sequence&limit=500';
  const { body } = await service.call({ url, key: tenant.key });
  const states = [];
  for (const { id } of body.data) {
    states.push((await service.call({ url: `/api/audit-logs/${id}`, key: tenant.key })).body);
  }
  return states;
}

test('a link is the panel with a token behind the #, and says when it ends', async () => {
  const { status, body } = await makeLink({ ttlSeconds: 60 });
  expect(status).toBe(201);
  expect(body.url).toMatch(/^http:\/\/127\.0\.0\.1:3000\/enter#[\w-]{43}$/);
  expect(body.expiresAt).toBe(new Date(service.clock.now + 60_000).toISOString());
  const usual = await makeLink();
  expect(usual.body.expiresAt).toBe(new Date(service.clock.now + 300_000).toISOString());
  expect(usual.body.url).not.toBe(body.url);
});

test('a key of the tenant opens its own panel; no other tenant, and no operator', async () => {
  expect((await makeLink({}, linkKey)).status).toBe(201);
  expect((await makeLink({ tenantId: tenant.id.toUpperCase() }, linkKey)).status).toBe(201);
  for (const tenantId of [other.id, randomUUID()]) {
    expect(codeOf(await makeLink({ tenantId }, linkKey))).toEqual([403, 'forbidden']);
  }
  const before = (await linkEvents()).length;
  const visit = { actor: operator, reason: 'Ticket 4711' };
  expect(codeOf(await makeLink(visit, linkKey))).toEqual([403, 'forbidden']);
  expect(await linkEvents()).toHaveLength(before);
});

test('a wrong link is refused with every field that is wrong', async () => {
  expect(codeOf(await makeLink({ tenantId: randomUUID() }))).toEqual([422, 'unknown_tenant']);
  const wrong: [Record<string, unknown>, string][] = [
    [{ tenantId: '!x' }, '/tenantId'],
    [{ actor: { ...admin(), id: '!x' } }, '/actor/id'],
    [{ actor: { ...admin(), role: 'api_key' } }, '/actor/role'],
    [{ actor: { ...admin(), email: 'nobody' } }, '/actor/email'],
    [{ actor: { id: randomUUID(), role: 'admin' } }, '/actor/email'],
    [{ actor: { ...operator, email: null }, reason: 'x' }, '/actor/email'],
    [{ ttlSeconds: 0 }, '/ttlSeconds'],
    [{ ttlSeconds: 901 }, '/ttlSeconds'],
    [{ ttlSeconds: 1.5 }, '/ttlSeconds'],
    [{ path: '//evil.example' }, '/path'],
    [{ path: 'https://evil.example/settings/audit' }, '/path'],
    [{ path: '/settings/audit\\..\\docs' }, '/path'],
    [{ path: '/docs' }, '/path'],
    [{ color: 'red' }, '/color'],
  ];
  for (const [changes, path] of wrong) {
    const { body } = await makeLink(changes);
    expect([body.code, body.errors?.[0]?.path], JSON.stringify(changes)).toEqual([
      'validation_failed',
      path,
    ]);
  }
});

test('a field of any text is answered by a link or a refusal, never a fault', async () => {
  const texts = [...hostileTexts, '\u0000', '\ud800', 'a\ud800@example.com', '!a@example.com', ''];
  for (const text of texts) {
    for (const body of [
      { tenantId: text },
      { path: text },
      { path: `/settings/audit/${text}` },
      { actor: { ...operator, email: text }, reason: 'x' },
      { actor: { ...operator, email: `${text}@example.com` }, reason: 'x' },
      { actor: operator, reason: text },
      { actor: { ...operator, role: text } },
    ]) {
      const { status } = await makeLink(body);
      expect([201, 403, 422], JSON.stringify(body)).toContain(status);
    }
    const token = {
      method: 'POST',
      url: '/api/session',
      key: null,
      body: { token: text },
    } as const;
    const answer = await service.call({ ...token, headers: { origin: ownOrigin } });
    expect([401, 422], JSON.stringify(text)).toContain(answer.status);
  }
});

test("an operator's link needs a reason, and is in the tenant's log without its token", async () => {
  const reason = 'Ticket 4711: Prüfung 監査 🔎';
  const path = '/settings/audit/events';
  const { status, body } = await makeLink({ actor: operator, reason, path });
  expect(status).toBe(201);
  const event = (await linkEvents()).at(-1);
  expect(event).toMatchObject({
    actor: { role: 'superadmin', email: null },
    crossTenant: true,
    action: 'create',
    resource: { type: 'viewer_link' },
    reason,
    recordedBy: { kind: 'service' },
    after: { outcome: 'made', openedFor: operator, path, expiresAt: body.expiresAt },
  });
  expect(JSON.stringify(event)).not.toContain(body.url.split('#')[1]);
});

test('a link without a readable reason is refused, and the tenant sees that too', async () => {
  const before = (await linkEvents()).length;
  const reasons = [undefined, null, '', '   ', 'a\nb', '\u0000', 'x'.repeat(1_001)];
  for (const reason of reasons) {
    expect(codeOf(await makeLink({ actor: operator, reason }))).toEqual([403, 'reason_required']);
  }
  const events = (await linkEvents()).slice(before);
  expect(events).toHaveLength(reasons.length);
  for (const event of events) {
    expect(event).toMatchObject({
      reason: null,
      after: { outcome: 'refused', openedFor: operator },
    });
  }
});

test("an admin's link needs no reason, and is one record; the sign-in is another", async () => {
  const before = (await linkEvents()).length;
  const token = await viewerToken(service.app, {
    tenantId: tenant.id,
    actor: admin(null),
    reason: 'not used',
  });
  const [made, ...more] = (await linkEvents()).slice(before);
  expect([made.crossTenant, made.reason, more]).toEqual([false, null, []]);
  const visitor = new Browser(service.app);
  const { body } = await visitor.signIn({ token });
  expect([body.actor.email, body.reason]).toEqual([null, null]);
});

test("an operator's link that cannot be recorded is not made", async () => {
  const count = async () => {
    const { rows } = await service.owner.query('SELECT count(*)::int FROM viewer_links');
    return rows[0].count;
  };
  const before = await count();
  await whileUnrecordable(service, async () => {
    const answer = await makeLink({ actor: operator, reason: 'x' });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(answer.text).not.toContain('/enter#');
  });
  expect(await count()).toBe(before);
});
