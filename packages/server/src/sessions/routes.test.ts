import { codeOf } from '@indelible/testing/answers';
import { admin, Browser, ownOrigin, viewerToken } from '@indelible/testing/browser';
import { recordAll } from '@indelible/testing/event-pool';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, testService, whileUnrecordable } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';

let tenant: { id: string; key: string };
let other: { id: string; key: string };

const service = await testService();
[tenant, other] = [await service.tenant(), await service.tenant()];
await recordAll(service, tenant.key, [eventOf()]);
await recordAll(service, other.key, [eventOf()]);
const listed = await service.call({ url: '/api/audit-logs?action=update', key: other.key });
const otherEventId = listed.body.data[0].id;
afterAll(async () => {
  await expectLogIntact(service, tenant.id);
  await expectLogIntact(service, other.id);
});

const tokenFor = (of = tenant, more: Record<string, unknown> = {}) =>
  viewerToken(service.app, { tenantId: of.id, actor: admin(), ...more });

const browser = () => new Browser(service.app);

async function signedIn(): Promise<Browser> {
  const visitor = browser();
  const { status } = await visitor.signIn({ token: await tokenFor() });
  expect(status).toBe(200);
  return visitor;
}

const whoAmI = (visitor: Browser) => visitor.call({ url: '/api/session' });
const statusOf = async (visitor: Browser) => (await whoAmI(visitor)).status;

/** What the tenant's log says of its panel, oldest first. */
async function sessionEvents() {
  const query = 'resource=session&sort=sequence&include=total&limit=500';
  const { body } = await service.call({ url: `/api/audit-logs?${query}`, key: tenant.key });
  return body.data;
}

test('a viewer link opens the panel for its person, at its page, and reads its tenant', async () => {
  const person = admin();
  const path = '/settings/audit/events?action=delete';
  const visitor = browser();
  const token = await tokenFor(tenant, { actor: person, path });
  const { status, body, headers } = await visitor.signIn({ token }, { 'user-agent': 'Panel/1' });
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  const at = (minutes: number) => new Date(service.clock.now + minutes * 60_000).toISOString();
  const session = {
    actor: person,
    tenant: { id: tenant.id, plan: 'Enterprise', locale: 'en', timeZone: 'UTC', restoreUrl: false },
    crossTenant: false,
    reason: null,
    scopes: ['events:read', 'exports:write', 'restore:write', 'webhooks:write', 'alerts:write'],
    sensitiveAccess: {
      resourceTypes: ['recording'],
      actions: expect.arrayContaining(['access', 'play', 'download']),
    },
    expiresAt: at(8 * 60),
    idleExpiresAt: at(30),
  };
  expect(body).toMatchObject({ ...session, path });
  expect((await whoAmI(visitor)).body).toMatchObject({ ...session, path: null });
  const list = await visitor.call({ url: '/api/audit-logs?action=update' });
  expect([list.status, list.body.data.length]).toEqual([200, 1]);
  expect(list.headers['cache-control']).toBe('no-store');
  const login = (await sessionEvents()).at(-1);
  expect(login).toMatchObject({
    actor: { ...person, userAgent: 'Panel/1' },
    action: 'login',
    category: 'security',
    crossTenant: false,
    recordedBy: { kind: 'service' },
  });
});

test('only the hash of a token is stored: neither rows nor log know it', async () => {
  const token = await tokenFor();
  const visitor = browser();
  const dump = async () => {
    const { rows } = await service.owner.query(`SELECT t::text FROM viewer_links AS t
      UNION ALL SELECT t::text FROM sessions AS t UNION ALL SELECT t::text FROM audit_events AS t`);
    return rows.map(({ t }) => t).join('\n');
  };
  const before = await dump();
  await visitor.signIn({ token });
  const [, sessionToken = ''] = visitor.cookie.split('=');
  expect(sessionToken).toMatch(/^[\w-]{43}$/);
  const all = before + (await dump());
  for (const secret of [token, sessionToken]) {
    expect(all).not.toContain(secret);
    expect(all).not.toContain(Buffer.from(secret).toString('hex'));
  }
});

test('exactly one of fifty sign-ins at once with one link wins, and one is recorded', async () => {
  const token = await tokenFor();
  const before = (await sessionEvents()).length;
  const visitors = Array.from({ length: 50 }, browser);
  const answers = await Promise.all(visitors.map((visitor) => visitor.signIn({ token })));
  const won = answers.filter(({ status }) => status === 200);
  expect(won).toHaveLength(1);
  expect(visitors.filter(({ cookie }) => cookie !== '')).toHaveLength(1);
  for (const { status } of answers) expect([200, 401]).toContain(status);
  expect(await sessionEvents()).toHaveLength(before + 1);
  service.clock.now += 60_000;
});

test('looking at a link spends nothing: previews and prefetches only get the page', async () => {
  const token = await tokenFor();
  for (const method of ['GET', 'HEAD'] as const) {
    await service.app.http.inject({ method, url: '/enter' });
    await service.app.http.inject({ method, url: `/enter?token=${token}` });
    await service.app.http.inject({ method, url: `/api/session?token=${token}` });
  }
  expect((await browser().signIn({ token })).status).toBe(200);
});

test('a link is spent by its first use, and ends with its time', async () => {
  const token = await tokenFor();
  expect((await browser().signIn({ token })).status).toBe(200);
  expect(codeOf(await browser().signIn({ token }))).toEqual([401, 'unauthenticated']);
  const inTime = await tokenFor(tenant, { ttlSeconds: 900 });
  const late = await tokenFor(tenant, { ttlSeconds: 900 });
  service.clock.now += 899_999;
  expect((await browser().signIn({ token: inTime })).status).toBe(200);
  service.clock.now += 1;
  expect(codeOf(await browser().signIn({ token: late }))).toEqual([401, 'unauthenticated']);
});

test('a token planted in the browser never becomes a session', async () => {
  const visitor = browser();
  const planted = 'p'.repeat(43);
  visitor.plant('indelible_session', planted);
  expect((await visitor.signIn({ token: await tokenFor() })).status).toBe(200);
  expect(visitor.cookie).not.toContain(planted);
  const attacker = browser();
  attacker.plant('indelible_session', planted);
  expect(await statusOf(attacker)).toBe(401);
  // Two cookies of the name: one of them is not ours.
  const torn = { cookie: `${visitor.cookie}; indelible_session=${planted}` };
  expect((await visitor.call({ url: '/api/session', headers: torn })).status).toBe(401);
});

test("signing in again ends the browser's former session, and no other one", async () => {
  const elsewhere = await signedIn();
  const visitor = await signedIn();
  const former = visitor.cookie;
  await visitor.signIn({ token: await tokenFor(other) });
  expect((await whoAmI(visitor)).body.tenant.id).toBe(other.id);
  const replayed = await browser().call({ url: '/api/session', headers: { cookie: former } });
  expect(replayed.status).toBe(401);
  expect(await statusOf(elsewhere)).toBe(200);
  // A sign-in that fails leaves things as they are.
  expect((await visitor.signIn({ token: 'x'.repeat(43) })).status).toBe(401);
  expect(await statusOf(visitor)).toBe(200);
});

test('a session that was signed out is over, also for a copy of its cookie', async () => {
  const visitor = await signedIn();
  const kept = visitor.cookie;
  expect((await visitor.signOut()).status).toBe(204);
  expect(visitor.cookie).toBe('');
  const replayed = await browser().call({ url: '/api/audit-logs', headers: { cookie: kept } });
  expect(codeOf(replayed)).toEqual([401, 'unauthenticated']);
  expect((await visitor.signOut()).status).toBe(204);
});

test('a session ends after 30 minutes without use, and after 8 hours of use', async () => {
  const [idle, used] = [await signedIn(), await signedIn()];
  const start = service.clock.now;
  service.clock.now = start + 30 * 60_000 - 1;
  expect((await used.call({ url: '/api/audit-logs' })).status).toBe(200);
  service.clock.now = start + 30 * 60_000;
  expect(codeOf(await whoAmI(idle))).toEqual([401, 'unauthenticated']);
  for (let minutes = 50; minutes < 8 * 60; minutes += 20) {
    service.clock.now = start + minutes * 60_000;
    expect(await statusOf(used)).toBe(200);
  }
  service.clock.now = start + 8 * 3_600_000 - 1;
  const last = await whoAmI(used);
  expect([last.status, last.body.idleExpiresAt]).toEqual([200, last.body.expiresAt]);
  service.clock.now += 1;
  expect(await statusOf(used)).toBe(401);
});

test('expired sessions are removed by later sign-ins, a bounded number at a time', async () => {
  await signedIn();
  await tokenFor();
  await service.owner.query(
    `INSERT INTO viewer_links SELECT sha256(n::text::bytea), gen_random_uuid(), $1, $1, NULL, 'admin',
       NULL, NULL, '2020-01-01' FROM generate_series(1, 150) n`,
    [tenant.id],
  );
  service.clock.now += 9 * 3_600_000;
  const count = async () => {
    const now = new Date(service.clock.now);
    const { rows } = await service.owner.query(
      `SELECT (SELECT count(*)::int FROM viewer_links WHERE expires_at <= $1) AS links,
         (SELECT count(*)::int FROM sessions WHERE expires_at <= $1) AS sessions`,
      [now],
    );
    return rows[0];
  };
  const before = await count();
  expect(before.links).toBeGreaterThan(150);
  expect(before.sessions).toBeGreaterThan(0);
  const visitor = await signedIn();
  expect(await count()).toEqual({ links: before.links - 100, sessions: 0 });
  await signedIn();
  expect(await count()).toEqual({ links: 0, sessions: 0 });
  expect(await statusOf(visitor)).toBe(200);
});

const foreignOrigins = [
  ...['https://evil.example', 'http://evil.example:3000', 'http://127.0.0.1:3001'],
  ...['http://127.0.0.1:3000.evil.example', 'null', ''],
];

test('a foreign page can neither sign in, sign out nor write with the cookie; bearers need no Origin', async () => {
  const visitor = await signedIn();
  const token = await tokenFor();
  for (const origin of foreignOrigins) {
    const headers = { origin };
    for (const [method, url, body] of [
      ['POST', '/api/session', { token }],
      ['DELETE', '/api/session', undefined],
      ['POST', '/api/audit-logs', eventOf()],
      ['PUT', `/api/tenants/${tenant.id}`, { name: 'Forged' }],
    ] as const) {
      const answer = await visitor.call({ method, url, headers, body });
      expect(codeOf(answer), `${method} ${url} from ${origin}`).toEqual([403, 'forbidden']);
      expect(answer.body.detail).toContain('Origin');
      expect(answer.headers).not.toHaveProperty('set-cookie');
    }
    const bearer = { method: 'POST', url: '/api/audit-logs', key: tenant.key, headers } as const;
    expect((await service.call({ ...bearer, body: eventOf() })).status).toBe(201);
  }
  const without = { method: 'DELETE', url: '/api/session', key: null } as const;
  const bare = await service.call({ ...without, headers: { cookie: visitor.cookie } });
  expect(codeOf(bare)).toEqual([403, 'forbidden']);
  expect(await statusOf(visitor)).toBe(200);
  expect((await browser().signIn({ token }, { origin: ownOrigin })).status).toBe(200);
});

test('a request that another site causes has no session', async () => {
  const visitor = await signedIn();
  for (const site of ['cross-site', 'same-site']) {
    const headers = { 'sec-fetch-site': site };
    expect(codeOf(await visitor.call({ url: '/api/audit-logs', headers }))).toEqual([
      401,
      'unauthenticated',
    ]);
  }
  const typed = await visitor.call({
    url: '/api/audit-logs',
    headers: { 'sec-fetch-site': 'none' },
  });
  expect(typed.status).toBe(200);
});

test('no answer lets a foreign page read or frame it', async () => {
  const visitor = await signedIn();
  const origin = 'https://evil.example';
  const preflight = { 'access-control-request-method': 'POST' };
  const answers = [
    await visitor.call({ url: '/api/audit-logs', headers: { origin } }),
    await visitor.call({ url: '/api/session', headers: { origin } }),
    await visitor.call({
      method: 'OPTIONS',
      url: '/api/session',
      headers: { origin, ...preflight },
    }),
    await visitor.call({ url: '/api/panel-config', headers: { origin } }),
  ];
  for (const { headers } of answers) {
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  }
});

test("a session reads its own tenant: another's rows are missing, and another's name is refused", async () => {
  const visitor = await signedIn();
  const event = await visitor.call({ url: `/api/audit-logs/${otherEventId}` });
  expect(codeOf(event)).toEqual([404, 'not_found']);
  for (const url of ['/api/audit-logs', '/api/audit-logs/stats?group_by=action']) {
    const answer = await visitor.call({ url, headers: { 'x-tenant-id': other.id } });
    expect(codeOf(answer)).toEqual([403, 'forbidden']);
  }
  expect((await visitor.call({ url: `/api/tenants/${tenant.id}` })).status).toBe(200);
  expect((await visitor.call({ url: `/api/tenants/${other.id}` })).status).toBe(404);
});

test('a session holds the scopes of an admin and no others', async () => {
  const visitor = await signedIn();
  for (const [method, url, body] of [
    ['POST', '/api/audit-logs', eventOf()],
    ['POST', '/api/viewer-links', { tenantId: tenant.id, actor: admin() }],
    ['PUT', `/api/tenants/${tenant.id}`, { plan: 'Starter' }],
    ['POST', `/api/tenants/${tenant.id}/api-keys`, { name: 'x', scopes: ['events:read'] }],
    ['GET', '/api/tenants', undefined],
  ] as const) {
    const answer = await visitor.call({ method, url, body });
    expect(codeOf(answer), `${method} ${url}`).toEqual([403, 'forbidden']);
    expect(answer.body.detail).toContain('scope');
  }
});

test('a call without a session has no reader; a bearer credential counts alone and is no session', async () => {
  expect(codeOf(await whoAmI(browser()))).toEqual([401, 'unauthenticated']);
  const bearer = await service.call({ url: '/api/session', key: tenant.key });
  expect(codeOf(bearer)).toEqual([401, 'unauthenticated']);
  const visitor = await signedIn();
  const wrongKey = await visitor.call({ url: '/api/audit-logs', key: `${tenant.key}x` });
  expect(wrongKey.status).toBe(401);
  const otherKey = await visitor.call({ url: `/api/audit-logs/${otherEventId}`, key: other.key });
  expect(otherKey.status).toBe(200);
});

test('a sign-in names one credential, in full, and nothing else', async () => {
  const token = await tokenFor();
  for (const body of [
    {},
    { token, jwt: 'x' },
    { token, reason: 'x' },
    { token, tenantId: tenant.id },
    { token: 1 },
    { token, path: '/settings/audit' },
    { token: 'x'.repeat(201) },
    { tenantId: '!x', jwt: 'x' },
  ]) {
    const answer = await browser().signIn(body);
    expect(codeOf(answer), JSON.stringify(body)).toEqual([422, 'validation_failed']);
    expect(answer.text).not.toContain(token);
  }
  expect((await browser().signIn({ token })).status).toBe(200);
});

test('a sign-in that cannot be recorded does not happen, and the link still works', async () => {
  const token = await tokenFor();
  const visitor = await signedIn();
  const kept = visitor.cookie;
  await whileUnrecordable(service, async () => {
    const answer = await visitor.signIn({ token });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(answer.headers).not.toHaveProperty('set-cookie');
  });
  expect(visitor.cookie).toBe(kept);
  expect(await statusOf(visitor)).toBe(200);
  expect((await visitor.signIn({ token })).status).toBe(200);
});
