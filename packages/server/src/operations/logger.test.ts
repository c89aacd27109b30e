import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { newFolder } from '@indelible/testing/folders';
import { RunningService } from '@indelible/testing/running-service';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { unreadable } from '../log/entries.store.ts';
import { describeError } from './logger.ts';

const service = await testService();
const dataDir = newFolder();
afterAll(() => rmSync(dataDir, { recursive: true, maxRetries: 10 }));

test('no log line holds personal data, credentials, ids or event contents, whatever goes wrong', async () => {
  const child = new RunningService({
    DATABASE_URL: service.servingUrl,
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: dataDir,
    LOG_LEVEL: 'debug',
  });
  onTestFinished(async () => void (await child.end('SIGKILL')));
  await child.started();
  const tenant = await service.tenant();
  // `zebra` stands for everything that must not be in a log.
  const event = (more: object = {}) =>
    eventOf({
      tenantId: tenant.id,
      actor: {
        id: randomUUID(),
        email: 'zebra@example.com',
        role: 'admin',
        ip: '203.0.113.99',
        userAgent: 'zebra',
      },
      resource: { type: 'queue', id: randomUUID(), name: 'Zebra' },
      diff: { zebra: { from: 'zebra', to: 'zebra' } },
      reason: 'zebra',
      ...more,
    });
  const post = (body: unknown, key = tenant.key, path = '/api/audit-logs') =>
    child.call({ method: 'POST', path, key, body });
  const { body: stored } = await post(event());
  expect(
    (await post({ events: [event(), event({ zebra: 1 })] }, tenant.key, '/api/audit-logs/batch'))
      .status,
  ).toBe(200);
  expect((await post(event({ action: 'Zebra!' }))).status).toBe(422);
  expect((await post(event(), 'idl_zebra')).status).toBe(401);
  expect((await post('zebra')).status).toBe(422);
  const reads = [
    `/api/audit-logs?user=zebra%40example.com&resource=zebra`,
    `/api/audit-logs/${stored.id}`,
    '/api/audit-logs/zebra',
    '/zebra/zebra?zebra=zebra',
    '/api/audit-logs?zebra=zebra',
    '/api/audit-logs/%ff',
    `/api/audit-logs/${'zebra'.repeat(100)}`,
  ];
  for (const path of reads) await child.call({ path, key: tenant.key });
  await fetch(`${child.url}/api/audit-logs`, {
    headers: {
      authorization: `Bearer ${platformKey}`,
      'x-tenant-id': tenant.id,
      'x-access-reason': 'zebra',
      'x-operator-email': 'zebra@example.com',
      'x-request-id': 'a-request-id-of-the-caller',
      'user-agent': 'zebra',
    },
  });
  await malformed(child, 'GET /zebra HTTP/1.1\r\nzebra zebra\r\n\r\n');
  await malformed(child, 'ZEBRA / HTTP/9.9\r\n\r\n');
  // PostgreSQL quotes what it cannot read in its message, and a row that it refuses in its details.
  await service.owner.query(`CREATE FUNCTION unreadable(text) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'invalid input: "%"', $1 USING ERRCODE = '22P02'; END $$`);
  for (const check of ['unreadable(actor_email)', 'false']) {
    const named = `ADD CONSTRAINT refused CHECK (action <> 'refused' OR ${check}) NOT VALID`;
    await service.owner.query(`ALTER TABLE audit_events ${named}`);
    expect((await post(event({ action: 'refused' }))).status).toBe(422);
    await service.owner.query('ALTER TABLE audit_events DROP CONSTRAINT refused');
  }
  await service.owner.query('ALTER TABLE tenants RENAME TO elsewhere');
  expect((await child.call({ path: '/api/audit-logs', key: tenant.key })).status).toBe(500);
  await service.owner.query('ALTER TABLE elsewhere RENAME TO tenants');
  expect(await child.end('SIGTERM')).toBe(0);

  const lines = child.log.trim().split('\n');
  const entries = lines.map((line) => JSON.parse(line));
  const answered = entries.filter(({ msg }) => msg === 'answered');
  expect(answered.length).toBeGreaterThanOrEqual(14);
  expect(new Set(answered.map(({ route }) => route))).toEqual(
    new Set(['/api/audit-logs', '/api/audit-logs/batch', '/api/audit-logs/:id', 'unknown']),
  );
  expect(entries.filter(({ msg }) => msg === 'a flush failed').length).toBe(2);
  expect(entries.filter(({ msg }) => msg === 'unexpected error').length).toBe(1);
  expect(entries.map(({ reqId }) => reqId)).toContain('a-request-id-of-the-caller');
  for (const secret of ['zebra', tenant.id, tenant.key, platformKey, stored.id, '203.0.113.99']) {
    expect(lines.filter((line) => line.toLowerCase().includes(secret.toLowerCase()))).toEqual([]);
  }
});

/** Sends bytes that are no request and waits until the service hangs up. */
async function malformed(child: RunningService, text: string): Promise<void> {
  const socket = connect(Number(new URL(child.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.resume().write(text);
  await new Promise((resolve) => socket.once('close', resolve));
}

test('a logged error says what it is and where, but not what it may quote', () => {
  const quoting = Object.assign(new Error('invalid input syntax for type uuid: "zebra"'), {
    code: '22P02',
    detail: 'Failing row contains (zebra).',
  });
  const described = describeError(quoting);
  expect(described).toMatchObject({ type: 'Error', code: '22P02' });
  expect(JSON.stringify(described)).not.toContain('zebra');
  expect(described.stack).toContain('logger.test.ts');
  expect(
    JSON.stringify(describeError(new SyntaxError('Unexpected token in "zebra"'))),
  ).not.toContain('zebra');
  expect(describeError(new TypeError('x is not a function'))).toMatchObject({
    type: 'TypeError',
    message: 'x is not a function',
  });
  expect(describeError('zebra')).toEqual({ message: 'something that is no error: string' });
  const refused = [
    new Error('connect ECONNREFUSED ::1:1'),
    new Error('connect ECONNREFUSED 127.0.0.1:1'),
  ];
  expect(describeError(new AggregateError(refused))).toMatchObject({
    message: 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
  });
  expect(describeError({ name: 'JobError', message: 'the queue is closed' })).toMatchObject({
    type: 'JobError',
    message: 'the queue is closed',
  });
});

test('the line of a background run says what an answer to callers leaves out', () => {
  const { message } = describeError(unreadable('a log lacks its entry 7', 'of a test'));
  expect(message).toBe('a log lacks its entry 7; tenant of a test: docs/incidents.md');
});
