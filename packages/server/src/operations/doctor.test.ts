import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterNodes } from '@indelible/testing/cluster';
import { newFolder } from '@indelible/testing/folders';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { diagnose, diagnoseFolder, diagnoseNode } from './doctor.ts';
import { diagnoseDatabase, diagnoseOwner, locksFinding } from './doctor-database.ts';
import { durabilityFinding } from './durability.ts';
import type { Finding } from './finding.ts';

const service = await testService();
// As `migrate` leaves it; the databases of tests have fewer.
await service.owner.query('SELECT make_partitions_ahead(now(), 92)');
const folder = newFolder();

const look = (nowMs = Date.now()) => diagnoseDatabase(service.servingUrl, nowMs);
const levels = (findings: Finding[]) =>
  Object.fromEntries(findings.map(({ check, level }) => [check, level]));

test('a database as migrate leaves it is sound in every respect', async () => {
  expect(levels(await look())).toEqual({
    'database version': 'ok',
    writes: 'ok',
    durability: 'fail', // the server of the tests runs without fsync
    'database roles': 'ok',
    'serving login': 'ok',
    'immutable events': 'ok',
    migrations: 'ok',
    partitions: 'ok',
    locks: 'ok',
    ...(clusterNodes().length > 0 && { cluster: 'ok' }),
  });
});

test('a database that takes no writes is a failure that says where to look', async () => {
  const url = new URL(service.servingUrl);
  url.searchParams.set('options', '-c default_transaction_read_only=on');
  const findings = await diagnoseDatabase(url.href, Date.now());
  expect(findings.find(({ check }) => check === 'writes')).toMatchObject({
    level: 'fail',
    detail: /read-only.*DATABASE_URL.*disk/,
  });
});

test('a serving role that could change or remove anything recorded is a failure', async () => {
  const { rows } = await service.owner.query(
    `SELECT inhrelid::regclass::text AS partition FROM pg_inherits
      WHERE inhparent = 'audit_events'::regclass LIMIT 1`,
  );
  const grants = [
    'UPDATE ON audit_events TO indelible_writer',
    'DELETE ON log_tiles TO indelible_reader',
    `UPDATE (reason) ON ${rows[0].partition} TO indelible_writer`,
    `TRUNCATE ON ${rows[0].partition} TO indelible_writer`,
  ];
  for (const grant of grants) {
    await service.owner.query(`GRANT ${grant}`);
    const finding = (await look()).find(({ check }) => check === 'immutable events');
    await service.owner.query(`REVOKE ${grant.replace(' TO ', ' FROM ')}`);
    expect(finding, grant).toMatchObject({ level: 'fail', detail: /revoke it/ });
  }
  expect(levels(await look())['immutable events']).toBe('ok');
});

test('a migration that is missing is a failure that says what to run', async () => {
  const { rows } = await service.owner.query('DELETE FROM migrations RETURNING name, applied_at');
  const finding = (await look()).find(({ check }) => check === 'migrations');
  expect(finding).toMatchObject({ level: 'fail', detail: /0001-.*indelible migrate/ });
  for (const { name, applied_at } of rows) {
    await service.owner.query('INSERT INTO migrations VALUES ($1, $2)', [name, applied_at]);
  }
});

test('partitions that run out within a week are a warning', async () => {
  const inDays = (days: number) => look(Date.now() + days * 86_400_000);
  expect(levels(await inDays(60)).partitions).toBe('ok');
  expect(levels(await inDays(88)).partitions).toBe('warn');
});

test('too little room for the locks of all partitions is a warning that says what to set', async () => {
  const { rows } = await service.owner.query(
    `SELECT count(*)::int AS count FROM pg_class
      WHERE relname ~ '^audit_events' AND relkind IN ('r', 'p', 'i', 'I')`,
  );
  const [{ count: relations }] = rows;
  expect((await look()).find(({ check }) => check === 'locks')?.detail).toContain(
    `a statement over all partitions takes ${relations}`,
  );
  const small = { relations, connections: 10, perTransaction: 64 };
  const { level, detail } = locksFinding(small);
  const [, least] = /max_locks_per_transaction of PostgreSQL to (\d+)/.exec(detail) ?? [];
  expect(level).toBe('warn');
  expect(locksFinding({ ...small, perTransaction: Number(least) }).level).toBe('ok');
  expect(locksFinding({ ...small, perTransaction: Number(least) - 1 }).level).toBe('warn');
});

test('a serving login with the rights of the owner is a warning', async () => {
  const findings = await diagnoseDatabase(service.ownerUrl, Date.now());
  expect(levels(findings)['serving login']).toBe('warn');
  expect((await diagnoseOwner(service.ownerUrl)).level).toBe('ok');
  expect((await diagnoseOwner(service.servingUrl)).level).toBe('fail');
});

test('a database that cannot be used is a failure without its password', async () => {
  const url = service.servingUrl.replace(/\/\/[^@/]+@/, '//unknown_login:wrong-secret@');
  const [finding] = await diagnoseDatabase(url, Date.now());
  expect(finding).toMatchObject({ check: 'database', level: 'fail' });
  expect(finding?.detail).not.toContain('wrong-secret');
  const [empty] = await diagnoseDatabase(service.ownerUrl.replace(/\/test_\w+/, '/nothing'), 0);
  expect(empty).toMatchObject({ check: 'database', level: 'fail' });
});

test('a data folder or secret that others can reach is found', () => {
  chmodSync(folder, 0o700);
  writeFileSync(join(folder, 'session-secret'), 'x\n', { mode: 0o600 });
  expect(diagnoseFolder(folder).map(({ level }) => level)).toEqual(['ok', 'ok']);
  chmodSync(folder, 0o755);
  chmodSync(join(folder, 'session-secret'), 0o640);
  expect(diagnoseFolder(folder).map(({ level }) => level)).toEqual(['warn', 'fail']);
  expect(diagnoseFolder(join(folder, 'not-yet'))).toMatchObject([{ level: 'ok' }]);
});

test('a wrong setting ends the looking with the name of its variable', async () => {
  const findings = await diagnose({ DATABASE_POOL_SIZE: 'many' });
  expect(levels(findings)).toEqual({ node: 'ok', environment: 'fail' });
  expect(findings.at(-1)?.detail).toContain('DATABASE_POOL_SIZE');
});

test('with DATABASE_URL both logins are looked at', async () => {
  const findings = await diagnose({
    DATA_DIR: join(folder, 'not-yet'),
    DATABASE_URL: service.servingUrl,
    DATABASE_OWNER_URL: service.ownerUrl,
    PLATFORM_API_KEY: 'a key of at least 32 characters for certain',
  });
  expect(findings.filter(({ level }) => level !== 'ok')).toMatchObject([
    { check: 'durability', detail: expect.stringContaining('fsync is off in PostgreSQL') },
  ]);
  expect(findings.at(-1)).toMatchObject({ check: 'owner login' });
});

test('an installation that was never started is sound', async () => {
  const findings = await diagnose({ DATA_DIR: join(folder, 'not-yet') });
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
});

test.each([
  [{ fsync: 'off' }, 'fail', /power failure .* lose recorded events/],
  [{ fullPageWrites: 'off' }, 'warn', /full_page_writes is off/],
  [{ replicas: 2 }, 'warn', /2 replicas and waits for none of them/],
  [{ synchronousStandbys: 'ANY 1 (a, b)' }, 'fail', /wait for ANY 1 \(a, b\), and no replica/],
  [{ replicas: 2, synchronousStandbys: 'ANY 1 (a, b)' }, 'ok', /on disk/],
] as const)('what %o means for recorded events is told', (changes, level, detail) => {
  const sound = { fsync: 'on', fullPageWrites: 'on', synchronousStandbys: '', replicas: 0 };
  expect(durabilityFinding({ ...sound, ...changes })).toMatchObject({
    level,
    detail: expect.stringMatching(detail),
  });
});

test('a Node that is too old is a failure', () => {
  expect(diagnoseNode('20.20.2').level).toBe('fail');
  expect(diagnoseNode('24.0.0').level).toBe('ok');
});
