import { createServer } from 'node:http';
import { parseTimestamp, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type ClientOptions, createClient, IndelibleError, UnreachableError } from './index.ts';
import { listening } from './testing/listening.ts';
import { type Answer, scriptedService } from './testing/scripted-service.ts';

/** A client of a service that gives these answers. */
async function answering(answers: Answer[], options: Partial<ClientOptions> = {}) {
  const service = await scriptedService(answers);
  return { ...service, client: createClient({ url: service.url, key: 'idl_test', ...options }) };
}

const event = {
  actor: { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' },
};
const refusal = {
  code: 'validation_failed',
  detail: '/action is required',
  errors: [{ path: '/action', code: 'required', message: 'is required' }],
};

test('an event that is sent again after a failure carries the same id', async () => {
  const { client, received } = await answering([
    { hangUp: true },
    { status: 503 },
    { status: 409 },
  ]);
  await client.record({ ...event, timestamp: '2025-09-03T10:00:00.123Z' }).catch(() => {});
  const ids = received.map(({ body }) => JSON.parse(body).id);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
  expect(uuidTimeMs(uuidFromEventId(ids[0]) ?? '')).toBe(
    parseTimestamp('2025-09-03T10:00:00.123Z'),
  );
});

test('making a key is never repeated, because a second key would stay unknown', async () => {
  const { client, received } = await answering([{ hangUp: true }]);
  const create = client.apiKeys.create(null, { name: 'x', scopes: ['events:read'] });
  await expect(create).rejects.toThrow(UnreachableError);
  expect(received).toHaveLength(1);
});

test('making a link to the panel is never repeated: one for an operator is recorded each time', async () => {
  const link = { url: 'https://audit.example.com/enter#t', expiresAt: '2026-01-01T00:00:00.000Z' };
  const { client, received } = await answering([{ body: link }, { hangUp: true }]);
  const actor = { id: event.actor.id, email: 'ana@example.com', role: 'admin' } as const;
  const input = { tenantId: event.resource.id, actor, path: '/settings/audit/events' };
  expect(await client.viewerLinks.create(input)).toEqual(link);
  await expect(client.viewerLinks.create(input)).rejects.toThrow(UnreachableError);
  expect(received.map(({ line }) => line)).toEqual(Array(2).fill('POST /api/viewer-links'));
  expect(JSON.parse(received[0]?.body ?? '')).toEqual(input);
});

test('a refusal is thrown with status, code, request id and every field error, and not repeated', async () => {
  const headers = { 'x-request-id': 'request-1' };
  const { client, received } = await answering([{ status: 422, body: refusal, headers }]);
  const error = await client.record(event).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(IndelibleError);
  expect(error).toMatchObject({ status: 422, code: 'validation_failed', requestId: 'request-1' });
  expect(error).toMatchObject({ errors: refusal.errors, message: refusal.detail });
  expect(received).toHaveLength(1);
});

test('a service that asks to wait is not asked again before', async () => {
  const delays: number[] = [];
  const busy = { status: 429, headers: { 'retry-after': '1' } };
  const onRetry = ({ delayMs }: { delayMs: number }) => delays.push(delayMs);
  const { client } = await answering([busy, { body: { status: 'ok' } }], { onRetry });
  await client.ready();
  expect(delays).toHaveLength(1);
  expect(delays[0]).toBeGreaterThanOrEqual(1_000);
});

test('an hour of Retry-After is an error now, not a call that hangs', async () => {
  const { client, received } = await answering([
    { status: 503, headers: { 'retry-after': '3600' } },
  ]);
  await expect(client.ready()).rejects.toThrow(IndelibleError);
  expect(received).toHaveLength(1);
});

test('a code that is newer than this client is told as it is', async () => {
  const { client } = await answering([{ status: 409, body: { code: 'not_yet_known' } }]);
  await expect(client.ready()).rejects.toMatchObject({ status: 409, code: 'not_yet_known' });
});

test('a web page in place of the service is an unexpected answer', async () => {
  const { client } = await answering([{ status: 200, body: '<html>welcome</html>' }]);
  await expect(client.ready()).rejects.toMatchObject({ code: 'unexpected_answer' });
});

test('an error keeps the beginning of a long answer, which may come from another server', async () => {
  const [code, long] = ['no_such_thing', 'x'.repeat(8_500)];
  const { client } = await answering([
    { status: 403, headers: { 'x-request-id': long }, body: { code, detail: long } },
    { status: 403, body: { code: 'x'.repeat(8_500) } },
  ]);
  const error = await client.ready().catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code, message: 'x'.repeat(4_000), requestId: 'x'.repeat(64) });
  await expect(client.ready()).rejects.toMatchObject({ code: 'unexpected_answer' });
});

test('a redirect is not followed, so that key and events go to no other host', async () => {
  const elsewhere = await answering([{ body: {} }]);
  const { client } = await answering([{ status: 307, headers: { location: elsewhere.url } }]);
  await expect(client.record(event)).rejects.toMatchObject({ status: 307 });
  expect(elsewhere.received).toHaveLength(0);
});

test('no listener and no answer are both told in one sentence', async () => {
  const { url, close } = await listening(createServer(() => {}));
  const client = createClient({ url, key: null, attempts: 1, timeoutMs: 50 });
  await expect(client.ready()).rejects.toThrow('no answer within 0.05 s');
  await close();
  await expect(client.ready()).rejects.toThrow(/^http.* cannot be reached: .*ECONNREFUSED/);
});

test('a list follows its cursors to the end, with the same filters and operator headers', async () => {
  const pages = [
    { data: [{ id: 'a' }, { id: 'b' }], pagination: { nextCursor: 'two' } },
    { data: [{ id: 'c' }], pagination: { nextCursor: null } },
  ];
  const options = {
    tenantId: event.actor.id,
    reason: 'ticket 12: ñ',
    operatorEmail: 'o@example.com',
  };
  const { client, received } = await answering(
    pages.map((body) => ({ body })),
    options,
  );
  const ids: string[] = [];
  const query = { user: ['!ana@example.com', 'bo@example.com'], resourceId: 'x', afterSequence: 4 };
  for await (const { id } of client.list(query)) ids.push(id);
  expect(ids).toEqual(['a', 'b', 'c']);
  const params = 'user=%21ana%40example.com&user=bo%40example.com&resource_id=x&after_sequence=4';
  expect(received.map(({ line }) => line)).toEqual([
    `GET /api/audit-logs?${params}`,
    `GET /api/audit-logs?${params}&cursor=two`,
  ]);
  for (const { headers } of received) {
    expect(headers).toMatchObject({
      'x-tenant-id': event.actor.id,
      'x-access-reason': 'ticket%2012%3A%20%C3%B1',
      'x-operator-email': 'o@example.com',
    });
  }
});

test('a misspelt criterion goes along, for the service to refuse: left out, it would widen the answer', async () => {
  const { client, received } = await answering([]);
  const misspelt = { resorceId: event.resource.id, limit: 5 } as object;
  await client.page(misspelt).catch(() => {});
  await client.stats({ groupBy: ['day'], ...misspelt }).catch(() => {});
  expect(received.length).toBeGreaterThan(1);
  for (const { line } of received) expect(line).toContain(`resorce_id=${event.resource.id}`);
});

test('a key with a line break is refused before anything could print it', () => {
  const make = () => createClient({ url: 'http://127.0.0.1:9', key: 'idl_secret\n' });
  expect(make).toThrow(TypeError);
  expect(make).not.toThrow('idl_secret');
});

test('an option that no header can hold is the caller’s mistake, and no failure of the network', async () => {
  const { client, received } = await answering([{}], { operatorEmail: 'ana\n@example.com' });
  await expect(client.get('evt_audit_1')).rejects.toThrow(TypeError);
  expect(received).toHaveLength(0);
});

test('an id of dots, which an address reads as a step up, reaches no other call', async () => {
  const { client, received } = await answering([{ hangUp: true }]);
  for (const call of [
    () => client.exports.get('..'),
    () => client.searches.get('.'),
    () => client.apiKeys.revoke('..', '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a'),
  ]) {
    await expect(call()).rejects.toThrow(new TypeError('an id cannot be `.` or `..`'));
  }
  expect(received).toHaveLength(0);
});

test('a caller can end a call that waits to be repeated', async () => {
  const stop = new AbortController();
  const onRetry = () => stop.abort(new Error('enough'));
  const busy = { status: 503, headers: { 'retry-after': '30' } };
  const { client } = await answering([busy], { signal: stop.signal, onRetry });
  await expect(client.ready()).rejects.toThrow('enough');
});

test.each([502, 504])('a gateway that answers %s is a failure of the network', async (status) => {
  const gateway = { status, body: '<html>Bad Gateway</html>' };
  const { client, received } = await answering([gateway, { body: {} }, gateway], { attempts: 2 });
  await client.ready();
  await expect(client.ready()).rejects.toThrow(UnreachableError);
  await expect(client.ready()).rejects.toThrow(`a gateway answered ${status} for it`);
  expect(received).toHaveLength(6);
});

test.each([400, 401, 404, 409, 422, 500])('an answer %s is final', async (status) => {
  const { client, received } = await answering([{ status, body: refusal }]);
  await expect(client.ready()).rejects.toThrow(IndelibleError);
  expect(received).toHaveLength(1);
});

test.each(['log_damaged', 'too_slow'])(
  '%s is told at once, because waiting mends nothing',
  async (code) => {
    const { client, received } = await answering([{ status: 503, body: { code } }]);
    await expect(client.log.checkpoint()).rejects.toMatchObject({ code });
    expect(received).toHaveLength(1);
  },
);

test('a refused download is read no further than a problem document is long', async () => {
  const endless = { status: 403, body: 'x'.repeat(10 * 2 ** 20) };
  const problem = { status: 410, body: { code: 'gone', detail: 'it is no longer kept' } };
  const { client } = await answering([endless, problem]);
  const first = client.exports.download('exp_1').next();
  await expect(first).rejects.toMatchObject({ status: 403, code: 'unexpected_answer' });
  await expect(client.exports.download('exp_1').next()).rejects.toMatchObject({ code: 'gone' });
});

test('a refused download whose answer never ends is over in time', async () => {
  const endless = createServer((_, response) => void response.writeHead(403).write('x'));
  const { url, close } = await listening(endless);
  onTestFinished(close);
  const client = createClient({ url, key: null, timeoutMs: 50 });
  await expect(client.exports.download('exp_1').next()).rejects.toThrow('no answer within 0.05 s');
});

test('a download begins when it is read, so that its failure reaches the reader and no other', async () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', onUnhandled);
  onTestFinished(() => void process.off('unhandledRejection', onUnhandled));
  const { client, received } = await answering([{ status: 410, body: { code: 'gone' } }]);
  const chunks = client.exports.download('exp_1');
  await client.ready().catch(() => {});
  expect(received.map(({ line }) => line)).toEqual(['GET /readyz']);
  await expect(chunks.next()).rejects.toMatchObject({ code: 'gone' });
  expect(unhandled).toEqual([]);
});

test('a download without an answer ends in time, and one that arrives slowly does not', async () => {
  const { client } = await answering([{ silent: true }], { timeoutMs: 50 });
  await expect(client.exports.download('exp_1').next()).rejects.toThrow('no answer within 0.05 s');
  const slow = createServer((request, response) => {
    if (!request.url?.startsWith('/api/file')) {
      response.writeHead(302, { location: '/api/file' }).end();
      return;
    }
    response.write('first,');
    setTimeout(() => response.end('last'), 700);
  });
  const { url, close } = await listening(slow);
  onTestFinished(close);
  let text = '';
  const slowly = createClient({ url, key: null, timeoutMs: 600 });
  for await (const chunk of slowly.exports.download('exp_1')) {
    text += new TextDecoder().decode(chunk);
  }
  expect(text).toBe('first,last');
});

test('settings whose answer shows a secret once are sent once; all others are repeated', async () => {
  const { client, received } = await answering([{ hangUp: true }, { hangUp: true }, { body: {} }]);
  const settings = { name: 'Initech', plan: 'Pro', restoreUrl: 'https://example.com' } as const;
  await expect(client.tenants.put('t', settings)).rejects.toThrow(UnreachableError);
  expect(received).toHaveLength(1);
  await client.tenants.put('t', { ...settings, restoreUrl: null });
  expect(received).toHaveLength(3);
});

test('a key that is empty, as of a variable that is not set, is told as that', () => {
  const make = (key: string) => () => createClient({ url: 'http://127.0.0.1:9', key });
  expect(make('')).toThrow('the API key is empty');
  expect(make('idl_x\n')).toThrow('contains a line break');
});

test('a time limit that is no number, as of a variable that is not set, is told at once', () => {
  for (const timeoutMs of [Number.NaN, 0, -1]) {
    expect(() => createClient({ key: null, timeoutMs })).toThrow(`timeoutMs is ${timeoutMs}: it`);
  }
});

test('the first call of a process without a key throws; `null` and a page of a browser may have none', async () => {
  const { url, received, close } = await scriptedService([{ body: {} }]);
  onTestFinished(close);
  vi.stubEnv('INDELIBLE_API_KEY', '');
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });
  const client = createClient({ url });
  const told = 'no API key: set INDELIBLE_API_KEY, or pass key';
  await expect(client.ready()).rejects.toThrow(told);
  await expect(client.exports.download('exp_1').next()).rejects.toThrow(told);
  await createClient({ url, key: null }).ready();
  vi.stubEnv('INDELIBLE_API_KEY', 'idl_late');
  await client.ready();
  vi.stubEnv('INDELIBLE_API_KEY', '');
  vi.stubGlobal('location', { origin: url });
  await createClient({ url }).ready();
  expect(received.map(({ headers }) => headers.authorization)).toEqual([
    ...[undefined, 'Bearer idl_late', undefined],
  ]);
});

test('plain JavaScript may leave out the query of a page and of statistics', async () => {
  const { client, received } = await answering([{ body: { data: [] } }, { body: {} }]);
  await client.page();
  await (client.stats as () => Promise<unknown>)();
  expect(received.map(({ line }) => line)).toEqual([
    ...['GET /api/audit-logs', 'GET /api/audit-logs/stats'],
  ]);
});

test('address and key come from the environment, as for the command line, unless they are given', async () => {
  const { url, received, close } = await scriptedService([{ body: {} }]);
  onTestFinished(close);
  vi.stubEnv('INDELIBLE_URL', url);
  vi.stubEnv('INDELIBLE_API_KEY', 'idl_of_the_environment');
  onTestFinished(() => void vi.unstubAllEnvs());
  await createClient().ready();
  await createClient({ key: 'idl_given' }).ready();
  await createClient({ key: null }).ready();
  expect(received.map(({ headers }) => headers.authorization)).toEqual([
    ...['Bearer idl_of_the_environment', 'Bearer idl_given', undefined],
  ]);
  vi.stubEnv('INDELIBLE_URL', '');
  const none = createClient({
    key: null,
    attempts: 1,
    fetch: () => Promise.reject(new Error('x')),
  });
  await expect(none.ready()).rejects.toThrow('http://127.0.0.1:3000 cannot be reached');
});
