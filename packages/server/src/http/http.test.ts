import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { errorCodes } from '@indelible/protocol';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, testService } from '@indelible/testing/service';
import { afterEach, expect, test } from 'vitest';
import { asAppError } from './http.ts';
import { whenGone } from './tenant-reads.ts';

const service = await testService();
const tenant = await service.tenant();
afterEach(() => expectLogIntact(service, tenant.id));

const good = JSON.stringify(eventOf());
const json = { 'content-type': 'application/json' };
const send = (raw: string | Buffer, headers: Record<string, string | string[]> = json) =>
  service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, raw, headers });
const expectRefused = async (
  raw: string | Buffer,
  headers: Record<string, string | string[]>,
  status: number,
  code: string,
) => {
  const answer = await send(raw, headers);
  expect([answer.status, answer.body.code], JSON.stringify(headers)).toEqual([status, code]);
};

test('JSON in UTF-8 is taken under every spelling of its media type', async () => {
  for (const type of [
    ...['application/json', 'Application/JSON', 'application/json; charset=utf-8'],
    ...['application/json;charset="UTF-8"', 'application/json; charset=utf8; profile=x'],
  ]) {
    expect((await send(good, { 'content-type': type })).status, type).toBe(201);
  }
});

test('another media type, or none, is 415 and is not looked at', async () => {
  for (const type of [
    ...['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''],
    ...['application/jsonx', 'application/xml', 'application/ld+json', ';;;', 'json'],
  ]) {
    await expectRefused(good, { 'content-type': type }, 415, 'unsupported_media_type');
  }
});

test('another charset than UTF-8 is 415', async () => {
  for (const charset of ['latin1', 'iso-8859-1', 'utf-16', '"utf-16le"', 'utf-7', 'ascii']) {
    const type = `application/json; charset=${charset}`;
    await expectRefused(good, { 'content-type': type }, 415, 'unsupported_media_type');
  }
});

test('a compressed body is 415, an identity encoding is none', async () => {
  const zipped = gzipSync(good);
  for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'GZIP', 'gzip, identity', 'x']) {
    const headers = { ...json, 'content-encoding': encoding };
    await expectRefused(zipped, headers, 415, 'unsupported_media_type');
  }
  expect((await send(good, { ...json, 'content-encoding': 'Identity' })).status).toBe(201);
  await expectRefused(zipped, json, 400, 'malformed_json');
});

test('malformed, truncated and empty JSON is 400', async () => {
  for (const raw of [
    ...['', ' ', '{', good.slice(0, -1), good.slice(0, 40), `${good}x`, `${good}${good}`, '{,}'],
    ...["{'a':1}", '{"a":01}', '{"a":+1}', '{"a":NaN}', '{"a":1,}', '{a:1}', '{"a":"\n"}'],
    ...['undefined', '"\\x41"', '"\\u12"', '/**/{}', '\u0000{}', '<event/>', 'a=b', '\ufeff{}'],
  ]) {
    await expectRefused(raw, json, 400, 'malformed_json');
  }
});

test('a body that is not UTF-8, or has a byte order mark, is 400', async () => {
  const bytes = (...values: number[]) =>
    Buffer.concat([Buffer.from('{"reason":"'), Buffer.of(...values), Buffer.from('"}')]);
  for (const raw of [
    ...[bytes(0xff), bytes(0xc3), bytes(0xc0, 0x80), bytes(0xed, 0xa0, 0x80), bytes(0xe4)],
    ...[bytes(0xf4, 0x90, 0x80, 0x80), bytes(0x80), Buffer.from(good, 'utf16le')],
    Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), Buffer.from(good)]),
    Buffer.concat([Buffer.of(0xfe, 0xff), Buffer.from(good)]),
  ]) {
    await expectRefused(raw, json, 400, 'malformed_json');
  }
});

test('JSON nested a million deep is refused at once', async () => {
  for (const raw of [
    '['.repeat(500_000),
    '{"a":'.repeat(100_000),
    `${'['.repeat(201)}${']'.repeat(201)}`,
  ]) {
    await expectRefused(raw, json, 400, 'malformed_json');
  }
});

test('a call without any body is told what is missing', async () => {
  const { status, body } = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
  });
  expect([status, body.errors[0].path]).toEqual([422, '']);
});

test('a member named twice is refused on calls that leave it to the service', async () => {
  const url = `/api/tenants/${randomUUID()}`;
  const raw = '{"name":"a","plan":"Pro","name":"b","notifyEmails":[],"plan":"Starter"}';
  const { status, body } = await service.call({ method: 'PUT', url, raw, headers: json });
  expect([status, body.code]).toEqual([422, 'validation_failed']);
  expect(body.errors.map(({ path, code }: { path: string; code: string }) => [path, code])).toEqual(
    [
      ['/name', 'duplicate_key'],
      ['/plan', 'duplicate_key'],
    ],
  );
});

test('a path that exists refuses other methods with 405 and names those it has', async () => {
  const { body: event } = await send(good);
  for (const [url, allow] of [
    ['/api/audit-logs', 'GET, HEAD, POST'],
    ['/api/audit-logs?action=create', 'GET, HEAD, POST'],
    [`/api/audit-logs/${event.id}`, 'GET, HEAD'],
    ['/api/audit-logs/stats', 'GET, HEAD'],
    ['/api/tenants', 'GET, HEAD'],
  ] as const) {
    for (const method of ['PATCH', 'DELETE', 'OPTIONS'] as const) {
      const { status, headers, body } = await service.call({ method, url, key: tenant.key });
      expect([status, body.code, headers.allow], `${method} ${url}`).toEqual([
        ...[405, 'method_not_allowed'],
        allow,
      ]);
    }
  }
});

test('a call with a wrong method is refused whatever body, type or credential it has', async () => {
  const { body: event } = await send(good);
  const url = `/api/audit-logs/${event.id}`;
  const bodies: [raw: string, type: string][] = [
    ['{', 'application/json'],
    ['{"reason":"a","reason":"b"}', 'application/json'],
    [good, 'text/plain'],
    ['x'.repeat(100_000), 'application/json'],
  ];
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    for (const [raw, type] of bodies) {
      const call = { method, url, raw, headers: { 'content-type': type } };
      expect((await service.call({ ...call, key: tenant.key })).status).toBe(405);
      expect((await service.call({ ...call, key: null })).status).toBe(405);
    }
  }
  const { body: still } = await service.call({ url, key: tenant.key });
  const { leafHash: _, warnings: __, warningPaths: ___, ...recorded } = event;
  expect(still).toEqual(recorded);
});

test('a path that does not exist is 404 for every method', async () => {
  for (const url of [
    ...['/settings', '/api', '/api/audit-log', '/api/audit-logs/a/b/c', '/API/AUDIT-LOGS', '/.env'],
  ]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE'] as const) {
      const { status, body } = await service.call({ method, url, key: tenant.key });
      expect([status, body.code], `${method} ${url}`).toEqual([404, 'not_found']);
    }
  }
});

test('a name that no file can have is 404 among the files of the documentation', async () => {
  const names = ['%00', 'a%5c..%5cb', '%C3%A9'.repeat(150), `x/${'a'.repeat(5_000)}`];
  for (const name of names) {
    const { status, body } = await service.call({ url: `/docs/static/${name}` });
    expect([status, body.code], name.slice(0, 20)).toEqual([404, 'not_found']);
  }
});

test('a path that cannot be read is a problem like any other', async () => {
  for (const url of [
    '/api/audit-logs/%E0%A4%A',
    '/%',
    '/api/tenants/%ff',
    `/api/audit-logs/${'a'.repeat(300)}`,
  ]) {
    const { status, headers } = await service.call({ url, key: tenant.key });
    expect([400, 404], url).toContain(status);
    expect(headers).toMatchObject({
      'x-request-id': expect.stringMatching(/^[\w-]{8,64}$/),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  }
});

test('a request id of 8 to 64 word characters is kept, any other is replaced', async () => {
  const idOf = async (given: string | string[]) => {
    const { headers, body } = await service.call({
      url: '/nowhere',
      headers: { 'x-request-id': given },
    });
    expect(body.requestId).toBe(headers['x-request-id']);
    return headers['x-request-id'];
  };
  for (const kept of ['12345678', 'a-B_9'.repeat(12), 'x'.repeat(64), randomUUID()]) {
    expect(await idOf(kept)).toBe(kept);
  }
  for (const given of ['1234567', 'x'.repeat(65), '', 'has space', 'semi;colon', 'ümlaut-ümlaut']) {
    expect(await idOf(given)).not.toBe(given);
    expect(await idOf(given)).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect(await idOf(['first-id', 'second-id'])).toMatch(/^[0-9a-f-]{36}$/);
});

test('two requests without an id of their own have different ones', async () => {
  const [one, other] = [await send(good), await send(good)];
  expect(one.headers['x-request-id']).not.toBe(other.headers['x-request-id']);
});

test('an answer with data is neither cached nor sniffed', async () => {
  const { headers } = await send(good);
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
});

test('a problem names its type, title, status, detail, code and request', async () => {
  const { body, headers } = await send('{');
  expect(body).toEqual({
    type: 'urn:indelible:error:malformed_json',
    title: 'The body is not valid JSON',
    status: 400,
    detail: `The body is not valid JSON. ${errorCodes.malformed_json.help}`,
    code: 'malformed_json',
    requestId: headers['x-request-id'],
  });
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
});

test('a byte order mark before a body is named', async () => {
  const { status, body } = await send('\ufeff{}');
  expect([status, body.code]).toEqual([400, 'malformed_json']);
  expect(body.detail).toBe('the body begins with a byte order mark: send it without those 3 bytes');
});

test('no answer says more of a fault than that there was one', async () => {
  const broken = await testService();
  const { id, key } = await broken.tenant();
  await broken.owner.query('ALTER FUNCTION append_events RENAME TO hidden');
  const { status, text } = await broken.call({
    method: 'POST',
    url: '/api/audit-logs',
    key,
    body: eventOf(),
  });
  expect(status).toBe(500);
  expect(text).not.toMatch(/append_events|function|SELECT|\.ts|stack/i);
  await expectLogIntact(broken, id);
  await broken.close();
});

test('neither a caller who hangs up, nor a refusal of the framework, is a fault of the service', async () => {
  const hungUp = Object.assign(new Error('aborted'), { code: 'ECONNRESET', statusCode: 400 });
  const away = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  expect(asAppError(hungUp)?.code).toBe('malformed_json');
  expect(asAppError(away)?.code).toBe('unavailable');
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  const gone = whenGone({ raw: response });
  response.destroy();
  await once(response, 'close');
  expect(asAppError(gone.reason)?.code).toBe('unavailable'); // no fault that needs to be logged
  const refused = (statusCode: number) => Object.assign(new Error('no'), { statusCode });
  expect([403, 404, 418].map((status) => asAppError(refused(status))?.code)).toEqual([
    ...['forbidden', 'not_found', 'not_found'],
  ]);
  expect(asAppError(refused(500))).toBeNull();
  expect(asAppError(new Error('anything'))).toBeNull();
  expect(asAppError('thrown text')).toBeNull();
});
