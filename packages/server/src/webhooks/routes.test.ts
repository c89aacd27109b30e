import { randomUUID } from 'node:crypto';
import { codeOf, idsListed } from '@indelible/testing/answers';
import { expectMessageAsDocumented } from '@indelible/testing/documented';
import { keyOf } from '@indelible/testing/restore-setup';
import type { Answer } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import { signedBy } from '@indelible/testing/webhook-receiver';
import { hookedService, webhooksUrl } from '@indelible/testing/webhook-setup';
import { expect, test } from 'vitest';

/** The machine may be busy with other things. */
const patiently = { timeout: 20_000 };
const { service, tenant, hooks } = await hookedService({ AUTH_JWT_SECRET: jwtSecret });

const wrongIn = ({ body }: Answer) =>
  body.errors?.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`);

test('a webhook begins at the end of the log, with the defaults, and shows its secret this once', async () => {
  await hooks.record();
  const { secret, ...made } = await hooks.create();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(made).toMatchObject({
    name: null,
    url: tenant.receiver.url,
    format: 'webhook',
    filters: {},
    options: {},
    types: ['audit.events.recorded'],
    hasCredential: false,
    headerNames: [],
    behind: 0,
    attempt: 0,
    status: 'active',
    pausedBecause: null,
    nextAttemptAt: null,
    lastDelivery: null,
    previousSecretValidUntil: null,
  });
  expect(await hooks.get(made.id)).toEqual(made);
  expect((await hooks.list()).body.data).toEqual([made]);
  await service.app.webhooks.tick();
  expect(tenant.receiver.calls, 'not even its own making').toEqual([]);
});

test('making, changing and removing a webhook is in the log with both states, without secrets', async () => {
  const { id, secret } = await hooks.create({
    name: 'Collector',
    format: 'generic',
    credential: 'Bearer a-token-of-theirs',
    headers: { 'X-Tenant-Token': 'another-token-of-theirs' },
    filters: { category: ['security'] },
    options: { body: 'ndjson' },
  });
  const changed = await hooks.patch(id, { name: 'SIEM', filters: { action: ['!login'] } });
  expect(changed.body).toMatchObject({ name: 'SIEM', filters: { action: ['!login'] } });
  expect((await hooks.patch(id, { name: 'SIEM' })).body).toEqual(changed.body);
  expect((await hooks.remove(id)).status).toBe(204);
  expect((await hooks.list()).body.data).toEqual([]);
  const [[created], [updated, ...more], [deleted]] = [
    await hooks.log('create'),
    await hooks.log('update'),
    await hooks.log('delete'),
  ];
  const before = {
    name: 'Collector',
    url: tenant.receiver.url,
    format: 'generic',
    hasCredential: true,
    types: ['audit.events.recorded'],
    options: { body: 'ndjson' },
    filters: { category: ['security'] },
    headerNames: ['x-tenant-token'],
  };
  const keyMadeBy = { kind: 'platform', id: expect.any(String) };
  const after = { ...before, name: 'SIEM', filters: { action: ['!login'] } };
  expect(created).toMatchObject({ category: 'configuration', before: null, after: before });
  const marked = { ...after, keyMadeBy };
  expect([updated.before, updated.after, more]).toEqual([before, marked, []]);
  expect([deleted.before, deleted.after]).toEqual([marked, null]);
  const { rows } = await service.owner.query(
    `SELECT row_to_json(e)::text AS row FROM audit_events e WHERE tenant_id = $1`,
    [tenant.id],
  );
  const stored = rows.map(({ row }) => row).join();
  for (const word of ['token-of-theirs', secret.slice(6)]) expect(stored).not.toContain(word);
});

test('secrets, credentials and headers are stored sealed, and shown in no answer', async () => {
  const { id, secret } = await hooks.create({
    format: 'generic',
    credential: 'Bearer of-theirs',
    headers: { 'x-key': 'also of-theirs' },
  });
  const { rows } = await service.owner.query(
    `SELECT row_to_json(w)::text AS row, secret, credential FROM webhooks w WHERE tenant_id = $1`,
    [tenant.id],
  );
  const [{ row, secret: sealed, credential }] = rows;
  for (const stored of [row, sealed.toString('latin1'), credential.toString('latin1')]) {
    expect(stored).not.toContain('of-theirs');
    expect(stored).not.toContain(secret.slice(6));
  }
  const answers = [await hooks.get(id), await hooks.list(), await hooks.patch(id, { name: 'x' })];
  expect(JSON.stringify(answers)).not.toMatch(/whsec_|of-theirs/);
});

test('own headers go with each message and test, changes name what changes, and values show nowhere', async () => {
  const { receiver } = tenant;
  receiver.answers = [{ code: 500, text: 'first-value is not known' }, { code: 204 }];
  const { id } = await hooks.create({
    headers: { Authorization: 'Bearer first-value', 'x-team': 'audit', 'user-agent': 'theirs' },
  });
  await hooks.record();
  await service.app.webhooks.tick();
  expect(receiver.calls[0]?.headers).toMatchObject({
    authorization: 'Bearer first-value',
    'x-team': 'audit',
    'user-agent': 'theirs',
    'content-type': 'application/json',
    'webhook-signature': expect.stringMatching(/^v1,/),
  });
  expect((await hooks.get(id)).lastDelivery.response).toBe('[credential] is not known');
  const headers = { AUTHORIZATION: 'Bearer second-value', 'x-team': null, 'x-region': 'eu' };
  const { body } = await hooks.patch(id, { headers });
  // Like a new address: with all attempts, and at once.
  expect(body).toMatchObject({
    headerNames: ['authorization', 'user-agent', 'x-region'],
    attempt: 0,
  });
  await service.app.webhooks.tick();
  const { 'x-team': team, ...sent } = receiver.calls[1]?.headers ?? {};
  expect(team).toBeUndefined();
  expect(sent).toMatchObject({ authorization: 'Bearer second-value', 'x-region': 'eu' });
  expect((await hooks.act(id, 'test')).body.ok).toBe(true);
  expect(receiver.calls[2]?.headers['x-region']).toBe('eu');
  const [updated] = await hooks.log('update');
  expect(updated.before.headerNames).toEqual(['authorization', 'user-agent', 'x-team']);
  expect(updated.after).toMatchObject({
    headerNames: body.headerNames,
    headersReplaced: ['authorization'],
  });
  const everywhere = [
    await hooks.list(),
    await hooks.deliveries(id),
    await hooks.log('send'),
    updated,
  ];
  expect(JSON.stringify(everywhere)).not.toMatch(/(first|second)-value/);
});

test('own headers go to no other receiver than the one they were given for', async () => {
  const { id } = await hooks.create({ headers: { 'x-key': 'of-theirs', 'x-team': 'audit' } });
  const url = 'http://127.0.0.1:1/mine';
  expect(wrongIn(await hooks.patch(id, { url }))).toEqual([
    ...['/headers/x-key required', '/headers/x-team required'],
  ]);
  const again = { url, headers: { 'x-key': 'of-mine', 'x-team': null } };
  expect((await hooks.patch(id, again)).body).toMatchObject({ url, headerNames: ['x-key'] });
});

const wrong: [string, object, string[]][] = [
  [
    'headers that the service sets, that are none, that would start another, and too many',
    {
      headers: {
        Host: 'b.example',
        'Content-Length': '3',
        Connection: 'close',
        te: 'trailers',
        'Webhook-Signature': 'v1,x',
        'transfer-encoding': 'chunked',
        'Proxy-Authorization': 'x',
        'x y': '1',
        ['__proto__']: '1',
        'x-a': '1\r\nx-b: 2',
        'x-c': '',
        'x-d': 'ñ',
        'x-e': '1',
        'X-E': '2',
      },
    },
    [
      ...['Host', 'Content-Length', 'Connection', 'te', 'Webhook-Signature', 'transfer-encoding'],
      ...['Proxy-Authorization', 'x y', '__proto__', 'x-a', 'x-c', 'x-d', 'X-E'],
    ]
      .map((name) => `/headers/${name} invalid_value`)
      .concat('/headers too_many'),
  ],
  [
    'a header of a kilobyte and more',
    { headers: { 'x-a': 'x'.repeat(1_025) } },
    ['/headers/x-a too_long'],
  ],
  [
    "a header in place of a stream's credential",
    { format: 'generic', headers: { Authorization: 'Bearer x' } },
    ['/headers/Authorization invalid_value'],
  ],
  ['no URL', { url: undefined }, ['/url required']],
  ['something else than a URL', { url: 'hooks.example' }, ['/url invalid_format']],
  ['a URL with a password', { url: 'https://a:b@hooks.example/' }, ['/url invalid_format']],
  [
    'a secret in the URL',
    { url: 'https://a.example?token=abc', format: 'splunk_hec', credential: 'abc' },
    ['/url invalid_value'],
  ],
  ['another scheme', { url: 'ftp://hooks.example/' }, ['/url invalid_format']],
  ['an unknown member', { uri: '' }, ['/uri unknown_field']],
  ['an unknown format', { format: 'xml' }, ['/format invalid_value']],
  ['no type', { types: [] }, ['/types too_few']],
  ['an unknown type', { types: ['x'] }, ['/types/0 invalid_value']],
  [
    'a filter that would silently widen what is sent',
    { filters: { actions: ['login'] } },
    ['/filters/actions unknown_field'],
  ],
  [
    'values that no event could have',
    { filters: { category: ['x'], action: ['Not A Word', '!ok'] } },
    ['/filters/category/0 invalid_value', '/filters/action/0 invalid_value'],
  ],
  ['an empty filter', { filters: { action: [] } }, ['/filters/action too_few']],
  ['a credential for what is signed', { credential: 'x' }, ['/credential invalid_value']],
  ['no credential where one is needed', { format: 'splunk_hec' }, ['/credential required']],
  [
    'everything at once',
    {
      format: 'generic',
      types: ['audit.export.ready'],
      options: { body: 'xml', compress: 'yes' },
      credential: 'two\nlines',
    },
    [
      '/types/0 invalid_value',
      '/options/body invalid_value',
      '/options/compress unknown_field',
      '/credential invalid_value',
    ],
  ],
];

test('a limit of time is refused with the reason', async () => {
  const body = { url: 'https://a.example', filters: { receivedFrom: '2026-01-01' } };
  const { body: problem } = await hooks.post(body);
  expect(problem.errors).toEqual([
    {
      path: '/filters/receivedFrom',
      code: 'unknown_field',
      message: 'is not a filter of webhooks: they send events as they are recorded; see replay',
    },
  ]);
});

test.each(wrong)('a webhook with %s is refused, and nothing is made', async (_, body, problems) => {
  const answer = await hooks.post({ url: 'https://a.example', ...body });
  expect(codeOf(answer)).toEqual([422, 'validation_failed']);
  expect(wrongIn(answer)).toEqual(problems);
  expect((await hooks.list()).body.data).toEqual([]);
});

test('the credential goes to no other receiver than the one it was given for', async () => {
  const { id } = await hooks.create({ format: 'generic', credential: 'Bearer of-theirs' });
  const elsewhere = { url: 'http://127.0.0.1:1/mine' };
  expect(wrongIn(await hooks.patch(id, elsewhere))).toEqual(['/credential required']);
  expect(wrongIn(await hooks.patch(id, { format: 'elastic' }))).toEqual(['/credential required']);
  const path = `${tenant.receiver.url}/other`;
  expect((await hooks.patch(id, { url: path })).body).toMatchObject({
    url: path,
    hasCredential: true,
  });
  const without = await hooks.patch(id, { ...elsewhere, credential: null });
  expect(without.body).toMatchObject({ ...elsewhere, hasCredential: false });
});

test('a tenant has at most 20 webhooks, also when the last two come at the same moment', async () => {
  const made = await Promise.all(
    Array.from({ length: 22 }, () => hooks.post({ url: tenant.receiver.url })),
  );
  const codes = made.map((answer) => answer.status).sort();
  expect(codes).toEqual([...Array(20).fill(201), 409, 409]);
  const ids = await idsListed(service, webhooksUrl, tenant.key);
  expect([new Set(ids).size, [...ids].sort().reverse()]).toEqual([20, ids]);
  expect(await hooks.log('create')).toHaveLength(20);
});

test('a tenant that has left gets no webhook: nothing would ever be sent', async () => {
  const close = 'UPDATE log_heads SET closed_at = $2 WHERE tenant_id = $1';
  await service.owner.query(close, [tenant.id, new Date()]);
  const { status, body } = await hooks.post({ url: 'https://hooks.example/' });
  await service.owner.query(close, [tenant.id, null]);
  expect([status, body.code]).toEqual([409, 'conflict']);
  expect((await hooks.list()).body.data).toEqual([]);
});

test('a rotated secret signs at once, the one before it for 24 hours more', async () => {
  const { receiver } = tenant;
  const { id, secret: first } = await hooks.create();
  const { status, body } = await hooks.act(id, 'secret');
  const until = new Date(service.clock.now + 86_400_000).toISOString();
  expect([status, body.previousValidUntil]).toEqual([200, until]);
  expect((await hooks.get(id)).previousSecretValidUntil).toBe(until);
  const arrived = async () => {
    await hooks.act(id, 'test');
    const call = receiver.calls.at(-1);
    return call && [signedBy(body.secret, call), signedBy(first, call)];
  };
  expect(await arrived()).toEqual([true, true]);
  service.clock.now += 86_400_000;
  expect(await arrived()).toEqual([true, false]);
  expect((await hooks.get(id)).previousSecretValidUntil).toBeNull();
  const [rotated] = await hooks.log('rotate');
  expect(rotated.after).toMatchObject({ previousValidUntil: until });
});

test('the newest two secrets sign when one is replaced twice within a day, and the first no more', async () => {
  const { receiver } = tenant;
  const { id, secret: first } = await hooks.create();
  const [second, third] = [await hooks.act(id, 'secret'), await hooks.act(id, 'secret')];
  await hooks.act(id, 'test');
  const call = receiver.calls.at(-1);
  const secrets = [third.body.secret, second.body.secret, first];
  expect(call && secrets.map((each) => signedBy(each, call))).toEqual([true, true, false]);
});

test('a test call shows at once whether messages arrive, holds no event, and is recorded', async () => {
  const { receiver } = tenant;
  const { id, secret } = await hooks.create();
  await hooks.act(id, 'pause');
  receiver.answers = [
    { code: 200, text: 'thank\nyou' },
    { code: 500, text: 'x'.repeat(5_000) },
  ];
  const fine = await hooks.act(id, 'test');
  expect(fine.body).toMatchObject({ ok: true, status: 200, reason: null, response: 'thank you' });
  const failed = await hooks.act(id, 'test');
  expect(failed.body).toMatchObject({
    ok: false,
    status: 500,
    reason: 'the receiver answered 500',
  });
  expect(failed.body.response).toHaveLength(1_024);
  const [call] = receiver.calls;
  if (!call) throw new Error('nothing arrived');
  expect(signedBy(secret, call)).toBe(true);
  expect(call.body).toEqual({
    type: 'audit.webhook.test',
    timestamp: new Date(service.clock.now).toISOString(),
    data: { tenantId: tenant.id, webhookId: id },
  });
  expectMessageAsDocumented(service.app.http, call.body);
  const [last] = await hooks.deliveries(id);
  expect(last).toMatchObject({ type: 'audit.webhook.test', firstSequence: null, status: 'failed' });
  expect(await hooks.get(id)).toMatchObject({ lastDelivery: last, attempt: 0 });
  const sent = await hooks.log('send');
  expect(sent.map(({ actor, after }) => [actor.role, after.type, after.outcome])).toEqual([
    ['api_key', 'audit.webhook.test', 'delivered'],
    ['api_key', 'audit.webhook.test', 'failed'],
  ]);
});

test('while a test is under way, another one of the same webhook is refused', async () => {
  const held = Promise.withResolvers<{ code: number }>();
  tenant.receiver.answers = [{ held: held.promise }];
  const { id } = await hooks.create();
  const first = hooks.act(id, 'test');
  await expect.poll(() => tenant.receiver.calls.length, patiently).toBe(1);
  expect(codeOf(await hooks.act(id, 'test'))).toEqual([409, 'conflict']);
  held.resolve({ code: 204 });
  expect((await first).body.ok).toBe(true);
});

test('calls without a body refuse one, and what is not signed has no secret to rotate', async () => {
  const { id } = await hooks.create();
  for (const member of ['pause', 'resume', 'secret', 'test'] as const) {
    const answer = await hooks.act(id, member, { force: true });
    expect([codeOf(answer), wrongIn(answer)]).toEqual([
      [422, 'validation_failed'],
      ['/force unknown_field'],
    ]);
  }
  const made = await hooks.post({
    url: tenant.receiver.url,
    format: 'splunk_hec',
    credential: 'b1c2d3e4-token',
  });
  expect([made.status, made.body.secret]).toEqual([201, undefined]);
  expect(codeOf(await hooks.act(made.body.id, 'secret'))).toEqual([409, 'conflict']);
});

test('making, aiming and replaying need to be allowed to read too', async () => {
  const { id } = await hooks.create();
  const keeper = await keyOf(service, tenant.id, ['webhooks:write']);
  const as = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) =>
    service.call({ method, url: webhooksUrl + path, key: keeper, ...(body && { body }) });
  const url = tenant.receiver.url;
  for (const [method, path, body] of [
    ['POST', '', { url }],
    ['POST', `/${id}/replay`, { fromSequence: 0 }],
    ['PATCH', `/${id}`, { url: 'http://127.0.0.1:1/' }],
    ['PATCH', `/${id}`, { filters: {} }],
  ] as const) {
    expect(codeOf(await as(method, path, body))).toEqual([403, 'forbidden']);
  }
  expect((await as('GET', '')).status).toBe(200);
  expect((await as('PATCH', `/${id}`, { name: 'renamed' })).status).toBe(200);
  expect((await as('POST', `/${id}/pause`)).status).toBe(200);
});

test('admins manage the webhooks of their tenant; an operator declares a reason, which the tenant sees', async () => {
  const claims = {
    sub: randomUUID(),
    email: 'ana@example.com',
    role: 'admin',
    tenantId: tenant.id,
  };
  const admin = await token(claims, service.clock.now);
  const body = { url: tenant.receiver.url, name: 'By an admin' };
  const made = await service.call({ method: 'POST', url: webhooksUrl, key: admin, body });
  expect(made.status).toBe(201);
  const headers = { 'x-tenant-id': tenant.id };
  const pause = { method: 'POST', url: `${webhooksUrl}/${made.body.id}/pause` } as const;
  const reason = { ...headers, 'x-access-reason': 'their%20receiver%20is%20down' };
  expect((await service.call({ ...pause, headers: reason })).body.status).toBe('paused');
  const [created] = await hooks.log('create');
  expect(created.actor).toMatchObject({ id: claims.sub, email: 'ana@example.com', role: 'admin' });
  const [paused] = await hooks.log('pause');
  expect(paused).toMatchObject({
    crossTenant: true,
    category: 'cross_tenant',
    reason: 'their receiver is down',
    actor: { role: 'superadmin' },
  });
  const unknown = { 'x-tenant-id': randomUUID(), 'x-access-reason': 'why%20not' };
  const nowhere = { method: 'POST', url: webhooksUrl, headers: unknown, body } as const;
  expect(codeOf(await service.call(nowhere))).toEqual([404, 'not_found']);
});
