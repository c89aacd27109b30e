import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { databaseUrl } from '@indelible/testing/global-setup';
import { expectLogIntact } from '@indelible/testing/intact';
import { lockWaits } from '@indelible/testing/lock-waits';
import { eventOf, platformKey } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { Environment } from '../config.ts';
import { erasurePlan } from '../erasure/command.ts';
import { migrateDatabase, startService } from '../main.ts';
import { withOwnService } from '../operations/own-service.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { daysAheadMin, migrate } from './migrate.ts';

/* A cluster of its own: which roles exist, and who made them, belongs to a whole cluster. */

const baseFolder = newFolder();
const password = 's3cr3t-that-nobody-else-may-ever-read';
const settings = { fsync: 'off', shared_buffers: '16MB' };
const postgres = await startEmbeddedPostgres({ dataDir: baseFolder, log: () => {}, settings });
const superuser = await connect(postgres.ownerUrl);
for (const role of ['migrator LOGIN CREATEROLE', 'app LOGIN']) {
  await superuser.query(`CREATE ROLE ${role} PASSWORD '${password}'`);
}
const files = readdirSync(new URL('../../migrations/', import.meta.url));
const allMigrations = files.filter((name) => name.endsWith('.sql')).sort();
/** The first database of the cluster: its migration makes the roles. */
const first = await newDatabase();
const applied = await migrateDatabase(first.env);
afterAll(async () => {
  await superuser.end();
  await postgres.stop();
  rmSync(baseFolder, { recursive: true, maxRetries: 10 });
});

/** Makes partitions for a week: those of three months, which the first has, take a second. */
const migrateWeek = (env: Environment, log?: (message: string) => void) =>
  migrateDatabase(env, { daysAhead: daysAheadMin, log });

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=indelible' });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** The cluster's URL for one of its logins and databases. */
function urlOf(login: string, database: string): string {
  const url = new URL(databaseUrl(postgres.ownerUrl, database));
  url.username = login;
  url.password = password;
  return url.href;
}

interface Database {
  name: string;
  env: Record<'DATABASE_URL' | 'DATABASE_OWNER_URL' | 'DATA_DIR', string> & Environment;
  /** Rows of a statement, run by the superuser. */
  ask(sql: string): Promise<Record<string, unknown>[]>;
}

/** A new database of this owner, and the environment that serves from it. */
async function newDatabase(owner = 'migrator'): Promise<Database> {
  const name = `db_${randomBytes(5).toString('hex')}`;
  await superuser.query(`CREATE DATABASE ${name} OWNER ${owner}`);
  const env = {
    DATABASE_URL: urlOf('app', name),
    DATABASE_OWNER_URL: urlOf(owner, name),
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: join(baseFolder, name),
    PORT: '0',
    LOG_LEVEL: 'silent',
  };
  return { name, env, ask: (sql: string) => asked(databaseUrl(postgres.ownerUrl, name), sql) };
}

async function asked(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** What a failed attempt says; it must be one line, without the password. */
async function sentenceOf(attempt: Promise<unknown>): Promise<string> {
  const sentence = await attempt.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  );
  expect(sentence).not.toContain(password);
  expect(sentence).not.toContain('\n');
  return sentence;
}

test('a plain owner that may make roles migrates an empty database, and the service runs on it as another login', async () => {
  const { name, env, ask } = first;
  expect(applied).toEqual(allMigrations);
  const service = await startService(env);
  const tenantId = randomUUID();
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${service.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${platformKey}`,
        'content-type': 'application/json',
        'x-tenant-id': tenantId,
        'x-access-reason': 'test',
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers
    const json: any = await answer.json();
    return { status: answer.status, body: json };
  };
  const put = await call('PUT', `/api/tenants/${tenantId}`, { name: 'Tenant', plan: 'Pro' });
  expect(put.status).toBe(201);
  const recorded = await call('POST', '/api/audit-logs', eventOf({ tenantId }));
  expect(recorded.status).toBe(201);
  const listed = await call('GET', '/api/audit-logs');
  expect(listed.body.data.map((event: { id: string }) => event.id)).toContain(recorded.body.id);
  const owner = await connect(databaseUrl(postgres.ownerUrl, name));
  await expectLogIntact({ owner }, tenantId);
  await owner.end();
  await Promise.all([service.stop(), service.stop()]); // as two signals do
  const [ahead] = await ask(
    `SELECT count(*)::int AS partitions FROM pg_inherits WHERE inhparent = 'audit_events'::regclass`,
  );
  expect(ahead?.partitions).toBeGreaterThanOrEqual(93 + 2 * 4);
});

test('a command reads the logs although the owner may use neither serving role', async () => {
  expect(await withOwnService(first.env, ({ logs }) => logs.all())).toHaveLength(1);
  // On another machine: there is no folder of the service, and a command that reads makes no key.
  const DATA_DIR = join(newFolder(), 'none');
  const elsewhere = { ...first.env, DATA_DIR };
  expect(await withOwnService(elsewhere, ({ logs }) => logs.all())).toHaveLength(1);
  expect(existsSync(DATA_DIR)).toBe(false);
});

test('migrating again changes nothing', async () => {
  const { env, ask } = first;
  const before = await ask('SELECT * FROM migrations ORDER BY name');
  expect(before.map((row) => row.name)).toEqual(allMigrations);
  expect(await migrateWeek(env)).toEqual([]);
  expect(await ask('SELECT * FROM migrations ORDER BY name')).toEqual(before);
});

test('a migrator that waits for another one says so, and for which, and goes on after it', async () => {
  const { env } = await newDatabase();
  const other = await connect(env.DATABASE_OWNER_URL);
  await other.query("SET application_name = 'other'; SELECT pg_advisory_lock(7204118552)");
  const { rows } = await other.query('SELECT pg_backend_pid() AS pid');
  const lines: string[] = [];
  const migrating = migrateWeek(env, (line) => lines.push(line));
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]).toContain(`migrating this database (other, session ${rows[0].pid}): waiting`);
  await other.end();
  expect(await migrating).toEqual(allMigrations);
  expect(lines).toHaveLength(1);
});

test('two migrators at the same moment apply each migration once, and do not disturb those of another database', async () => {
  const { env, ask } = await newDatabase();
  const other = await newDatabase();
  const migrators = [env, env, other.env].map((each) => migrateWeek(each));
  const [one = [], two = [], apart] = await Promise.all(migrators);
  expect([...one, ...two].sort()).toEqual(allMigrations);
  expect([one.length, two.length].sort()).toEqual([0, allMigrations.length]);
  expect((await ask('SELECT name FROM migrations')).length).toBe(allMigrations.length);
  expect(apart).toEqual(allMigrations);
});

test('while a migration waits for one partition to index it, others take events; an interrupted run goes on', {
  tags: 'plain',
}, async () => {
  const { name, env, ask } = await newDatabase();
  const lines: string[] = [];
  await migrateWeek(env, (line) => lines.push(line));
  const migration = '0006-event-indexes.sql';
  const migrations = [
    migration,
    '0019-unknown-values-of-searches.sql',
    '0032-no-index-of-addresses.sql',
  ];
  const indexes = await ask(
    "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'audit_events'::regclass AND NOT indisprimary",
  );
  await ask(`DROP INDEX ${indexes.map((index) => index.name).join(', ')};
    DELETE FROM migrations WHERE name IN ('${migrations.join("', '")}')`);
  const partitions = await ask(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit_events'::regclass",
  );
  const [busy, other] = [partitions.at(-1)?.name, partitions[0]?.name];
  expect(busy).not.toBe(other);
  const recording = await connect(databaseUrl(postgres.ownerUrl, name));
  await recording.query(`BEGIN; LOCK TABLE ${busy} IN ROW EXCLUSIVE MODE`);
  const migrated = sentenceOf(migrateWeek(env));
  await expect.poll(() => lockWaits(recording)).toBe(1);
  // With the locks of an insert into the other partition.
  await ask(`BEGIN; LOCK TABLE ONLY audit_events, ${other} IN ROW EXCLUSIVE MODE NOWAIT; COMMIT`);
  const [{ pid } = {}] = await ask(
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  await ask(`SELECT pg_terminate_backend(${pid})`);
  expect(await migrated).toContain(`migration ${migration}`);
  await recording.query('COMMIT');
  await recording.end();
  const again = await migrateWeek(env, (line) => lines.push(line));
  expect(again).toEqual(migrations);
  const applied = migrations.map((each) => `applying migration ${each}`);
  expect(lines, 'not of an empty database').toEqual(applied);
  const built = await ask(`SELECT count(*)::int AS count, bool_and(indisvalid) AS valid
    FROM pg_index WHERE indrelid::regclass::text LIKE 'audit\\_events%' AND NOT indisprimary`);
  expect(built).toEqual([{ count: indexes.length * (partitions.length + 1), valid: true }]);
});

test('a database with the last former migration keeps its schema, and the former names by which its processes start', async () => {
  const { env, ask } = await newDatabase();
  await migrateWeek(env);
  const former = ['0001-log-and-events.sql', '0053-announce-by-clock.sql'];
  await ask(`DELETE FROM migrations; INSERT INTO migrations VALUES ('${former.join("'), ('")}');
    CREATE FUNCTION append_log(home uuid) RETURNS void LANGUAGE sql AS 'SELECT'`);
  const tables = () =>
    ask(`SELECT oid FROM pg_class WHERE relnamespace = 'indelible'::regnamespace
      AND relkind IN ('r', 'p') ORDER BY 1`);
  const before = await tables();
  expect(await migrateWeek(env)).toEqual(allMigrations.filter((name) => name > '0015'));
  expect(await tables()).toEqual(before);
  const names = (await ask('SELECT name FROM migrations')).map(({ name }) => name);
  expect(names.sort()).toEqual([...allMigrations, ...former].sort());
  expect(await ask("SELECT to_regproc('append_log') AS called")).toEqual([{ called: null }]);
  expect(await migrateWeek(env)).toEqual([]);
});

test('a database whose older events are in the archive alone is refused, and stays as it is', async () => {
  const { env, ask } = await newDatabase();
  const migration = '0021-no-cold-reads.sql';
  await migrateWeek(env);
  await ask(`SET ROLE indelible_owner; DELETE FROM migrations WHERE name = '${migration}';
    CREATE TABLE cold_parts (tenant_id uuid);
    ALTER TABLE tenants ADD COLUMN cold_before uuid;
    INSERT INTO tenants (id, name, plan, created_at, updated_at, cold_before)
      VALUES (gen_random_uuid(), 'Old', 'Enterprise', now(), now(), gen_random_uuid())`);
  expect(await sentenceOf(migrateWeek(env))).toMatch(
    /^migration 0021-no-cold-reads.sql failed: older events of 1 tenant.* archive only.*docs\/archive.md/,
  );
  const left = await ask(
    "SELECT to_regclass('cold_parts')::text AS parts, cold_before FROM tenants",
  );
  expect(left).toEqual([{ parts: 'cold_parts', cold_before: expect.any(String) }]);
  await ask('UPDATE tenants SET cold_before = NULL');
  expect(await migrateWeek(env)).toContain(migration);
  expect(await ask("SELECT to_regclass('cold_parts') AS parts")).toEqual([{ parts: null }]);
});

test('a database of an older build is refused with what to do, and stays as it is', async () => {
  const { env, ask } = await newDatabase();
  await ask(`CREATE SCHEMA indelible AUTHORIZATION indelible_owner; SET ROLE indelible_owner;
    CREATE TABLE migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
    INSERT INTO migrations VALUES ('0001-log-and-events.sql'), ('0052-announced-partitions.sql')`);
  const stored = () => ask('SELECT * FROM migrations ORDER BY name');
  const before = await stored();
  expect(await sentenceOf(migrateWeek(env))).toBe(
    'the database has the schema of an older build (0052-announced-partitions.sql): run ' +
      '`indelible migrate` of commit 8d63926f first, then that of this build',
  );
  expect(await stored()).toEqual(before);
  const tables = await ask("SELECT tablename FROM pg_tables WHERE schemaname = 'indelible'");
  expect(tables).toEqual([{ tablename: 'migrations' }]);
});

test('the serving login gets membership in the two serving roles and nothing else', async () => {
  const { ask } = first;
  const memberships = await ask(
    `SELECT rolname FROM pg_auth_members JOIN pg_roles r ON r.oid = roleid
      WHERE member = 'app'::regrole ORDER BY 1`,
  );
  expect(memberships).toEqual([{ rolname: 'indelible_reader' }, { rolname: 'indelible_writer' }]);
  const attributes = 'rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls';
  for (const role of ['app', 'indelible_writer', 'indelible_reader', 'indelible_owner']) {
    const [found = {}] = await ask(`SELECT ${attributes} FROM pg_roles WHERE rolname = '${role}'`);
    expect(Object.values(found), role).toEqual([false, false, false, false, false]);
  }
  const dependencies = await ask(
    `SELECT count(*)::int AS count FROM pg_shdepend WHERE refobjid = 'app'::regrole AND dbid <> 0`,
  );
  expect(dependencies).toEqual([{ count: 0 }]);
  for (const role of ['indelible_writer', 'indelible_reader', 'indelible_owner']) {
    expect(await ask(`SELECT rolpassword FROM pg_authid WHERE rolname = '${role}'`)).toEqual([
      { rolpassword: null },
    ]);
  }
});

test('a login that was given its memberships beforehand migrates without the right to hand them out', async () => {
  await superuser.query(`CREATE ROLE plain LOGIN PASSWORD '${password}'`);
  await superuser.query('GRANT indelible_owner TO plain');
  const { env } = await newDatabase('plain');
  expect(await migrateWeek(env)).toEqual(allMigrations);
});

test('a login that may not make or hand out roles is refused in a sentence that says so', async () => {
  await superuser.query(`CREATE ROLE stranger LOGIN PASSWORD '${password}'`);
  const { env } = await newDatabase('stranger');
  expect(await sentenceOf(migrateWeek(env))).toMatch(
    /^roles and schema cannot be made: permission denied to grant role "indelible_owner"/,
  );
});

test('a migration that fails leaves nothing of it behind and is named with its reason', async () => {
  const { env, ask } = await newDatabase();
  await ask('CREATE SCHEMA indelible AUTHORIZATION indelible_owner');
  await ask('CREATE TABLE indelible.log_tail (other int)');
  expect(await sentenceOf(migrateWeek(env))).toBe(
    'migration 0003-logs.sql failed: relation "log_tail" already exists',
  );
  expect(await ask(`SELECT to_regclass('indelible.log_heads') AS made`)).toEqual([{ made: null }]);
  expect((await ask('SELECT name FROM migrations')).length).toBe(2);
  await ask('DROP TABLE indelible.log_tail');
  expect(await migrateWeek(env)).toEqual(allMigrations.slice(2));
});

test('a service refuses a database that was never migrated, or not by its own release', async () => {
  const { env, ask } = await newDatabase();
  expect(await sentenceOf(startService(env))).toMatch(
    /^the database cannot be used: .*; has `indelible migrate` been run\?$/,
  );
  await migrateWeek(env);
  const last = allMigrations.at(-1);
  await ask(`DELETE FROM migrations WHERE name = '${last}'`);
  expect(await sentenceOf(startService(env))).toBe(
    `the database lacks ${last}; run \`indelible migrate\``,
  );
  const target = { tenantId: randomUUID(), actor: 'ana@example.com' };
  expect(await sentenceOf(erasurePlan(env, target))).toBe(
    `the database lacks ${last}: run \`indelible migrate\` first`,
  );
});

test('a serving login that is no member of the serving roles is told to migrate', async () => {
  const { env, name } = first;
  await superuser.query(`CREATE ROLE outsider LOGIN PASSWORD '${password}'`);
  const started = startService({ ...env, DATABASE_URL: urlOf('outsider', name) });
  expect(await sentenceOf(started)).toMatch(
    /indelible_reader.*; has `indelible migrate` been run\?$/,
  );
});

test('a database that cannot be reached is named with the reason and without its secrets', async () => {
  const away = `postgres://app:${password}@127.0.0.1:1/indelible`;
  expect(await sentenceOf(migrate(away, away))).toBe(
    'the database cannot be reached as its owner: connect ECONNREFUSED 127.0.0.1:1',
  );
  const env = {
    DATABASE_URL: away,
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: join(baseFolder, 'away'),
  };
  expect(await sentenceOf(startService({ ...env, LOG_LEVEL: 'silent' }))).toBe(
    'the database of DATABASE_URL cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
  );
  const byName = { ...env, DATABASE_URL: away.replace('127.0.0.1', 'localhost') };
  expect(await sentenceOf(startService({ ...byName, LOG_LEVEL: 'silent' }))).toContain(
    'ECONNREFUSED',
  );
});

test('a wrong password is named as such, without the password', async () => {
  const { env } = first;
  const wrong = new URL(env.DATABASE_URL);
  wrong.password = `${password}-not`;
  const sentence = 'password authentication failed for user "app"';
  expect(await sentenceOf(startService({ ...env, DATABASE_URL: wrong.href }))).toBe(
    `the database of DATABASE_URL cannot be reached: ${sentence}`,
  );
  expect(await sentenceOf(migrate(wrong.href, wrong.href))).toBe(
    `the database cannot be reached as its owner: ${sentence}`,
  );
});
