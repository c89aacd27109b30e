import { randomUUID } from 'node:crypto';
import { testService } from '@indelible/testing/service';
import { expect, test, vi } from 'vitest';
import { asAppError } from '../http/http.ts';
import {
  connectionProblem,
  openDatabase,
  readTenant,
  record,
  unavailability,
  write,
} from './db.ts';

const service = await testService();

const tenantCount = async () =>
  (await service.owner.query('SELECT count(*)::int AS count FROM tenants')).rows[0].count;

const insertTenant = `INSERT INTO tenants (id, name, plan, created_at, updated_at)
  VALUES (gen_random_uuid(), 'Tenant', 'Pro', now(), now())`;

test('a transaction whose failure went unnoticed does not pass for committed', async () => {
  const before = await tenantCount();
  const work = write(service.db, async (tx) => {
    await tx.query(insertTenant);
    await tx.query('SELECT 1 / 0').catch(() => {});
  });
  await expect(work).rejects.toThrow('the transaction ended with ROLLBACK');
  expect(await tenantCount()).toBe(before);
});

test('a commit that is sent behind a query that fails leaves nothing, and the connection works', async () => {
  const before = await tenantCount();
  const work = record(service.db, async (tx, commit) => {
    await Promise.all([tx.query(insertTenant), tx.query('SELECT 1 / 0'), commit()]);
  });
  await expect(work).rejects.toThrow('division by zero');
  expect(await tenantCount()).toBe(before);
  await record(service.db, (tx, commit) => Promise.all([tx.query(insertTenant), commit()]));
  expect(await tenantCount()).toBe(before + 1);
});

test('work that fails after its commit is answered is not rolled back', async () => {
  const notices: (string | undefined)[] = [];
  const before = await tenantCount();
  const work = record(service.db, async (tx, commit) => {
    tx.on('notice', ({ message }) => notices.push(message));
    await Promise.all([tx.query(insertTenant), commit()]);
    throw new Error('too late');
  });
  await expect(work).rejects.toThrow('too late');
  expect(await tenantCount()).toBe(before + 1);
  expect(notices).toEqual([]);
});

test('a connection that breaks within a transaction fails that transaction alone', async () => {
  const before = await tenantCount();
  const work = write(service.db, async (tx) => {
    await tx.query(insertTenant);
    const { rows } = await tx.query('SELECT pg_backend_pid() AS pid');
    await service.owner.query('SELECT pg_terminate_backend($1::int, 5000)', [rows[0].pid]);
    await tx.query(insertTenant);
  });
  const error = await work.catch((cause: unknown) => cause);
  expect(unavailability(error)).not.toBeNull();
  expect(await tenantCount()).toBe(before);
  await write(service.db, (tx) => tx.query(insertTenant));
  expect(await tenantCount()).toBe(before + 1);
});

test('no connection is ever without its role, whatever settings the URL carries', async () => {
  const url = new URL(service.servingUrl);
  url.searchParams.set('options', '-c role=none -c search_path=public -c application_name=ours');
  const db = openDatabase(url.href, { poolSize: 2, onIdleError: () => {} });
  const asked = `SELECT current_user AS role, current_schema() AS schema,
    current_setting('application_name') AS name`;
  const settings = async (pool: typeof db.reader) => (await pool.query(asked)).rows[0];
  expect(await settings(db.reader)).toEqual({
    role: 'indelible_reader',
    schema: 'indelible',
    name: 'ours',
  });
  expect(await settings(db.writer)).toMatchObject({ role: 'indelible_writer' });
  expect(await settings(db.recording)).toMatchObject({ role: 'indelible_writer' });
  await db.close();
});

test.each([
  ['off', 'on'],
  ['local', 'on'],
  ['remote_write', 'on'],
  ['remote_apply', 'remote_apply'],
])('where synchronous_commit is %s, every connection commits with %s', async (given, expected) => {
  const url = new URL(service.servingUrl);
  url.searchParams.set('options', `-c synchronous_commit=${given}`);
  const db = openDatabase(url.href, { poolSize: 2, onIdleError: () => {} });
  for (const pool of [db.reader, db.writer, db.recording, db.background]) {
    const { rows } = await pool.query('SHOW synchronous_commit');
    expect(rows).toEqual([{ synchronous_commit: expected }]);
  }
  await db.close();
});

test('through a pooler every transaction has role and settings, and leaves neither them nor its tenant', async () => {
  const db = openDatabase(service.servingUrl, {
    poolSize: 1,
    poolerUrl: service.servingUrl,
    onIdleError: () => {},
  });
  const asked = `SELECT current_user AS role, current_setting('search_path') AS path,
    current_setting('lock_timeout') AS lock, current_setting('synchronous_commit') AS commit,
    current_setting('app.tenant_id', true) AS tenant, pg_backend_pid() AS pid`;
  const settled = { path: 'indelible', lock: '5s', commit: 'on' };
  expect((await db.writer.query(asked)).rows).toMatchObject([
    { ...settled, role: 'indelible_writer' },
  ]);
  const tenant = randomUUID();
  const named = { name: 'asked', text: asked };
  const bound = (await readTenant(db, tenant, (tx) => tx.query(named))).rows[0];
  expect(bound).toMatchObject({ ...settled, role: 'indelible_reader', tenant });
  const failed = readTenant(db, tenant, (tx) => tx.query({ text: 'SELECT 1 / 0' }));
  await expect(failed).rejects.toThrow('division by zero');

  const client = await db.reader.connect();
  const left = (await client.query(asked)).rows[0];
  const role = new URL(service.servingUrl).username;
  expect(left).toMatchObject({ role, lock: '0', tenant: '', pid: bound?.pid });
  expect((await client.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([]);
  client.release();
  await db.close();
});

test('administration that waits for locks takes no connection from recording', async () => {
  const db = openDatabase(service.servingUrl, { poolSize: 2, onIdleError: () => {} });
  const done = Promise.withResolvers<void>();
  const busy = [write(db, () => done.promise), write(db, () => done.promise)];
  const recorded = await record(db, async (tx) => (await tx.query('SELECT 1 AS one')).rows[0]);
  expect(recorded).toEqual({ one: 1 });
  done.resolve();
  await Promise.all(busy);
  await db.close();
});

const withCode = (code: string) => Object.assign(new Error('a database said so'), { code });

test('a database that is away, busy, read-only or restarting may be asked again; a wrong statement may not', () => {
  const away = [
    ...['08006', '28P01', '53300', '57P01', '57P03', '40P01', '25P02', '25P03', '3D000', '55000'],
  ];
  const system = ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'EHOSTUNREACH', 'EAI_AGAIN'];
  for (const code of [...away, ...system]) {
    expect(unavailability(withCode(code)), code).toBe('the database is not available');
  }
  expect(unavailability(withCode('25006'))).toBe('the database is read-only');
  expect(unavailability(withCode('53100'))).toBe('the disk of the database is full');
  expect(unavailability(withCode('55P03'))).toBe('the log is busy');
  for (const code of ['22P02', '23505', '23514', '42P01', '42501', 'P0001', 'ERR_ASSERTION']) {
    expect(unavailability(withCode(code)), code).toBeNull();
  }
  expect(unavailability(new Error('Connection terminated unexpectedly'))).not.toBeNull();
  expect(unavailability(new Error('Query read timeout'))).not.toBeNull();
  expect(unavailability(new TypeError('x is not a function'))).toBeNull();
  expect(unavailability('Connection terminated')).toBeNull();
});

test('an attempt at several addresses says what each of them answered', () => {
  const attempts = [
    new Error('connect ECONNREFUSED ::1:1'),
    new Error('connect ECONNREFUSED 127.0.0.1:1'),
  ];
  expect(connectionProblem(new AggregateError(attempts))).toBe(
    'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
  );
});

test('the statement of a caller that has gone ends, and its connection serves no other', async () => {
  const gone = new AbortController();
  const pid = Promise.withResolvers<number>();
  const asking = readTenant(
    service.db,
    randomUUID(),
    async (tx) => {
      pid.resolve((await tx.query({ text: 'SELECT pg_backend_pid() AS pid' })).rows[0]?.pid);
      await tx.query({ text: 'SET LOCAL statement_timeout = 0' });
      await tx.query({ text: 'SELECT pg_sleep(600)' });
    },
    gone.signal,
  );
  const asleep = `SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`;
  const sleepers = async () => (await service.owner.query(asleep, [await pid.promise])).rowCount;
  await expect.poll(sleepers).toBe(1);
  gone.abort();
  await expect(asking).rejects.toThrow('Connection terminated');
  await expect.poll(sleepers).toBe(0);
});

test('a statement that takes too long says so, and how to ask for less', async () => {
  const asking = readTenant(service.db, randomUUID(), async (tx) => {
    await tx.query({ text: 'SET LOCAL statement_timeout = 1' });
    await tx.query({ text: 'SELECT pg_sleep(9)' });
  });
  const error = await asking.catch((cause: unknown) => cause);
  expect(asAppError(error)).toMatchObject({
    code: 'too_slow',
    message: 'the query took longer than 10 seconds; narrow the time range or add a filter',
  });
});

test('one of several connections stays, so that a list after a pause need not plan again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { reader, close } = openDatabase(service.db.url, { poolSize: 3, onIdleError: () => {} });
  try {
    await Promise.all([reader.query('SELECT 1'), reader.query('SELECT 1')]);
    expect(reader.totalCount).toBe(2);
    vi.advanceTimersByTime(3_600_000);
    expect(reader.totalCount).toBe(1);
    await reader.query('SELECT 1');
  } finally {
    vi.useRealTimers();
    await close();
  }
});
