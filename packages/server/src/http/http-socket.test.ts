import { once } from 'node:events';
import { connect } from 'node:net';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* What only a real connection can do: break off, lie about lengths, send no HTTP at all. */

const service = await testService();
const tenant = await service.tenant();
await service.app.http.listen({ port: 0, host: '127.0.0.1' });

const good = JSON.stringify(eventOf());
const head = (...lines: string[]) =>
  [
    'POST /api/audit-logs HTTP/1.1',
    'host: localhost',
    `authorization: Bearer ${tenant.key}`,
    'content-type: application/json',
    ...lines,
    '\r\n',
  ].join('\r\n');

/**
 * Sends bytes, ends its own side if told to, and
 * gives back what the service says until it hangs up.
 */
async function exchange(bytes: string | Buffer, options: { end: boolean }): Promise<string> {
  const address = service.app.http.server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  const socket = connect(address.port, '127.0.0.1');
  await once(socket, 'connect');
  let answer = '';
  socket.setEncoding('utf8');
  socket.on('data', (text) => {
    answer += text;
  });
  const closed = new Promise((resolve) => socket.on('close', resolve));
  // The service may hang up while we are still sending: what it said before counts.
  socket.on('error', () => {});
  if (options.end) socket.end(bytes);
  else socket.write(bytes);
  await closed;
  return answer;
}

function problemIn(answer: string): { status: number; code: string; requestId: string } {
  const [headers = '', body = ''] = answer.split('\r\n\r\n');
  expect(headers).toMatch(/content-type: application\/problem\+json/i);
  const problem = JSON.parse(body);
  expect(headers).toContain(`HTTP/1.1 ${problem.status} `);
  expect(headers.toLowerCase()).toContain(`x-request-id: ${problem.requestId}`);
  return problem;
}

async function recordedEvents(): Promise<number> {
  const { rows } = await service.owner.query(
    'SELECT size::int FROM log_heads WHERE tenant_id = $1',
    [tenant.id],
  );
  return rows[0].size;
}

test('a whole request on a real connection is recorded', async () => {
  const before = await recordedEvents();
  const answer = await exchange(
    head(`content-length: ${Buffer.byteLength(good)}`, 'connection: close') + good,
    { end: false },
  );
  expect(answer).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
  expect(answer).toMatch(/\r\nlocation: \/api\/audit-logs\/evt_audit_[0-9a-z]{26}\r\n/);
  expect(await recordedEvents()).toBe(before + 1);
  await expectLogIntact(service, tenant.id);
});

test('a body that ends before its Content-Length is 400, and nothing of it is recorded', async () => {
  const before = await recordedEvents();
  const length = Buffer.byteLength(good) + 1;
  const answer = await exchange(head(`content-length: ${length}`) + good, { end: true });
  expect(problemIn(answer)).toMatchObject({ status: 400, code: 'malformed_json' });
  expect(await recordedEvents()).toBe(before);
  await expectLogIntact(service, tenant.id);
});

test('a chunked body that breaks off, or counts wrongly, is 400, and nothing of it is recorded', async () => {
  const before = await recordedEvents();
  const chunked = head('transfer-encoding: chunked');
  const size = Buffer.byteLength(good).toString(16);
  const broken = await exchange(`${chunked}${size}\r\n${good}\r\n`, { end: true });
  expect(problemIn(broken)).toMatchObject({ status: 400, code: 'malformed_json' });
  const wrong = await exchange(`${chunked}zz\r\n${good}\r\n0\r\n\r\n`, { end: false });
  expect(problemIn(wrong)).toMatchObject({ status: 400, code: 'invalid_parameter' });
  expect(await recordedEvents()).toBe(before);
  await expectLogIntact(service, tenant.id);
});

test('a body announced too large is refused before it is sent', async () => {
  const answer = await exchange(head('content-length: 99999999'), { end: false });
  expect(problemIn(answer)).toMatchObject({ status: 413, code: 'payload_too_large' });
});

test('a body a little too large is read to its end, and its sender gets the answer', async () => {
  const bytes = 700 * 1_024;
  const tooLarge = head(`content-length: ${bytes}`) + ' '.repeat(bytes);
  const answer = await exchange(`${tooLarge}GET /healthz HTTP/1.0\r\n\r\n`, { end: false });
  expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  expect(answer).toContain('HTTP/1.1 200 OK');
});

test('a chunked body is measured as it comes', async () => {
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
  const answer = await exchange(head('transfer-encoding: chunked') + chunk.repeat(11), {
    end: false,
  });
  expect(problemIn(answer)).toMatchObject({ status: 413, code: 'payload_too_large' });
});

test('text that is no HTTP, and two lengths for one body, are refused', async () => {
  for (const bytes of [
    'GARBAGE\r\n\r\n',
    '\u0000\u0001\u0002\r\n\r\n',
    `${head('content-length: 2', 'content-length: 3')}{}`,
    `${head('content-length: 2', 'transfer-encoding: chunked')}{}`,
    `${head('x-bad: a\u0000b', 'content-length: 2')}{}`,
  ]) {
    const answer = await exchange(bytes, { end: false });
    expect(problemIn(answer)).toMatchObject({ status: 400, code: 'invalid_parameter' });
  }
});

test('a call without a host is refused with a problem, and an unknown expectation is ignored', async () => {
  const bytes = 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n';
  const refused = await exchange(bytes, { end: false });
  expect(problemIn(refused)).toMatchObject({ status: 400, code: 'invalid_parameter' });
  const length = `content-length: ${Buffer.byteLength(good)}`;
  const expecting = head('expect: an-answer', 'connection: close', length);
  expect(await exchange(`${expecting}${good}`, { end: false })).toContain('HTTP/1.1 201 ');
  await expectLogIntact(service, tenant.id);
});

test('two hosts, and chunks in HTTP/1.0, are refused, and what follows them is not read', async () => {
  const before = await recordedEvents();
  const next = head(`content-length: ${Buffer.byteLength(good)}`) + good;
  const chunks = `${Buffer.byteLength(good).toString(16)}\r\n${good}\r\n0\r\n\r\n`;
  for (const bytes of [
    head('Host: other', `content-length: ${Buffer.byteLength(good)}`) + good,
    head('transfer-encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0') + chunks,
  ]) {
    const answer = await exchange(bytes + next, { end: false });
    expect(problemIn(answer)).toMatchObject({ status: 400, code: 'invalid_parameter' });
  }
  expect(await recordedEvents()).toBe(before);
});

test('a body is asked for by 100 Continue after the credential was accepted, not before', async () => {
  const length = `content-length: ${Buffer.byteLength(good)}`;
  const expecting = head('expect: 100-continue', 'connection: close', length);
  const accepted = await exchange(expecting + good, { end: false });
  expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  const stranger = head('expect: 100-continue', length).replace(tenant.key, 'idl_unknown');
  const refused = await exchange(stranger, { end: false });
  expect(problemIn(refused)).toMatchObject({ status: 401 });
});

test('a folder among the files of the documentation is 404', async () => {
  for (const name of ['.', '..', '%2e', '%2e%2e', './']) {
    const bytes = `GET /docs/static/${name} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
    expect(problemIn(await exchange(bytes, { end: false })), name).toMatchObject({ status: 404 });
  }
});

test('headers of a hundred kilobytes are refused', async () => {
  const answer = await exchange(head(`x-large: ${'a'.repeat(100_000)}`), { end: false });
  expect(problemIn(answer)).toMatchObject({ status: 413, code: 'payload_too_large' });
});

test('a second request smuggled behind a first is a request of its own, or none', async () => {
  const before = await recordedEvents();
  const length = `content-length: ${Buffer.byteLength(good)}`;
  const two = head(length) + good + head(length, 'connection: close') + good;
  const answer = await exchange(two, { end: false });
  expect(answer.match(/HTTP\/1\.1 201 Created/g)).toHaveLength(2);
  const trailing = await exchange(`${head(length)}${good}GARBAGE\r\n\r\n`, { end: false });
  expect(trailing.match(/HTTP\/1\.1 /g)?.length).toBeGreaterThan(0);
  expect(trailing).not.toMatch(/HTTP\/1\.1 5/);
  expect(await recordedEvents()).toBeLessThanOrEqual(before + 3);
  await expectLogIntact(service, tenant.id);
});
