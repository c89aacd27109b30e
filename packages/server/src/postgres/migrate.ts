import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { connectionProblem, isLockTimeout } from './db.ts';
import { isCluster } from './engine.ts';
import { transactionOn } from './transaction.ts';

const folder = new URL('../../migrations/', import.meta.url);

// Any fixed number: only one migrator of a database works at a time.
const migratorsLock = 7_204_118_552;

/** The last migration of builds up to commit 8d63926f, which made the schema in 53 steps. */
const lastFormer = '0053-announce-by-clock.sql';
/** The last one that a database of such a build has, under other names. */
const lastOfFormer = '0014-archive-and-erasure.sql';

/**
 * Days ahead for which a running service has partitions; `doctor` warns if it has not. To make them
 * is most of the time of a first start.
 */
export const daysAheadMin = 7;

export interface MigrateOptions {
  /** Runs in a transaction after all migrations. */
  afterwards?: (client: pg.Client) => Promise<void>;
  /** How far ahead there are partitions afterwards, until retention runs; null makes none. */
  daysAhead?: number | null | undefined;
  /**
   * Gets a line when another migrator is waited for, and before each migration of a database that
   * has some: one may take minutes.
   */
  log?: ((message: string) => void) | undefined;
}

/**
 * Updates roles and schema; may run repeatedly, also by several processes at once. `ownerUrl` needs
 * CREATEROLE (or existing roles) and CREATE on its database; `servingUrl`'s login becomes a member
 * of the two serving roles. Returns the applied migrations. Throws an Error for the operator: what
 * failed, and why.
 */
export async function migrate(
  ownerUrl: string,
  servingUrl: string,
  { afterwards = async () => {}, daysAhead = 92, log = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const client = await connectAsOwner(ownerUrl);
  try {
    await lockOutMigrators(client, log);
    await requireVersion(client);
    const servingLogin = new pg.Client({ connectionString: servingUrl }).user;
    await makeRoles(client, servingLogin).catch((error: unknown) => {
      throw new Error(`roles and schema cannot be made: ${connectionProblem(error)}`);
    });
    await client.query('SET ROLE indelible_owner');
    await client.query('SET search_path = indelible');
    // Citus: reading and changing tables in one transaction.
    await client.query("SET citus.multi_shard_modify_mode = 'sequential'");
    const applied = await applyPending(client, log);
    await client.query('GRANT SELECT ON migrations TO indelible_reader');
    await transactionOn(client, ['BEGIN'], afterwards);
    if (daysAhead !== null) {
      await client.query('SELECT make_partitions_ahead(now(), $1)', [daysAhead]);
      await client.query('SELECT announce_partitions()');
    }
    return applied;
  } finally {
    await client.end();
  }
}

async function connectAsOwner(ownerUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: ownerUrl,
    connectionTimeoutMillis: 10_000,
    application_name: `indelible migrate, process ${process.pid}`,
  });
  client.on('error', () => {}); // a connection that breaks shows at the next query
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end();
    throw new Error(`the database cannot be reached as its owner: ${connectionProblem(error)}`);
  }
}

/** Waits for another migrator, and says so after a second. */
async function lockOutMigrators(client: pg.Client, log: (message: string) => void): Promise<void> {
  const lock = (timeout: string) =>
    client.query(`SET lock_timeout = '${timeout}'; SELECT pg_advisory_lock(${migratorsLock})`);
  await lock('1s').catch(async (error: unknown) => {
    if (!isLockTimeout(error)) throw error;
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('%s, session %s', application_name, pid) AS name
       FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = current_database()
         AND locktype = 'advisory' AND granted AND (classid::bigint << 32) + objid::bigint = $1`,
      [migratorsLock],
    );
    const holders = rows.map(({ name }) => ` (${name})`).join('');
    log(`another process is migrating this database${holders}: waiting for its end`);
    await lock('0');
  });
  await client.query('RESET lock_timeout');
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num');
  const version = Number(rows[0]?.server_version_num);
  if (version < 150_000)
    throw new Error(`PostgreSQL 15 or later is needed; this one is ${version}`);
}

/** Roles have LOGIN but no password. (Citus does not copy NOLOGIN to its workers.) */
async function makeRoles(client: pg.Client, servingLogin: string | undefined): Promise<void> {
  for (const role of ['indelible_owner', 'indelible_writer', 'indelible_reader']) {
    await client.query(`DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role} LOGIN; END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; -- another database of the cluster was first
    END $$`);
  }
  const { rows } = await client.query<{ login: string }>('SELECT current_user AS login');
  for (const { login } of rows) await grantMembership(client, 'indelible_owner', login);
  if (servingLogin) {
    await grantMembership(client, 'indelible_writer', servingLogin);
    await grantMembership(client, 'indelible_reader', servingLogin);
  }
  await client.query('CREATE SCHEMA IF NOT EXISTS indelible AUTHORIZATION indelible_owner');
}

// A login with existing memberships needs no right to grant them. Roles belong to the cluster, so
// migrators of two databases can conflict: the second one sees a concurrent update and retries.
async function grantMembership(client: pg.Client, role: string, login: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      if (await isMember(client, role, login)) return;
      await client.query(`GRANT ${role} TO ${client.escapeIdentifier(login)}`);
      return;
    } catch (error) {
      const concurrent =
        error instanceof Error && /concurrently updated|duplicate key/.test(error.message);
      if (!concurrent || attempt === 10) throw error;
    }
  }
}

/** Whether the login can use the role already; a superuser can use any. */
async function isMember(client: pg.Client, role: string, login: string): Promise<boolean> {
  // Since PostgreSQL 16 the creator of a role may grant it, but is no full member.
  const { rows } = await client.query<{ member: boolean }>(
    `SELECT pg_has_role($1::name, $2::name, CASE
        WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER'
      END) AS member`,
    [login, role],
  );
  return rows[0]?.member === true;
}

async function applyPending(client: pg.Client, log: (message: string) => void): Promise<string[]> {
  await client.query(`CREATE TABLE IF NOT EXISTS migrations
    (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
  const names = await migrationNames();
  await adoptFormer(client, names);
  const pending = await pendingMigrations(client);
  const texts = await Promise.all(pending.map((name) => readFile(new URL(name, folder), 'utf8')));
  for (const [i, name] of pending.entries()) {
    const sql = texts[i] ?? '';
    if (pending.length < names.length) log(`applying migration ${name}`);
    await indexPartitions(client, sql).catch((error: unknown) => throwFailed(name, error));
    await applyOne(client, name, sql);
  }
  return pending;
}

/**
 * Where the last former migration is applied, records those as applied that make the same schema.
 * The former rows stay: by them the processes of that build still start. Throws for a database of
 * an older build.
 */
async function adoptFormer(client: pg.Client, names: readonly string[]): Promise<void> {
  const done = await appliedMigrations(client);
  if (done.size === 0 || names.some((name) => done.has(name))) return;
  if (!done.has(lastFormer)) {
    const last = [...done].sort().at(-1);
    throw new Error(
      `the database has the schema of an older build (${last}): run \`indelible migrate\` of commit ` +
        '8d63926f first, then that of this build',
    );
  }
  const had = names.filter((name) => name <= lastOfFormer);
  await client.query('INSERT INTO migrations (name) SELECT unnest($1::text[])', [had]);
}

async function appliedMigrations(database: Pick<pg.Pool, 'query'>): Promise<Set<string>> {
  const { rows } = await database.query<{ name: string }>('SELECT name FROM migrations');
  return new Set(rows.map(({ name }) => name));
}

/** Names of all migrations of this release, in order. */
async function migrationNames(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
}

/** Migrations of this release that the database lacks; the serving login may read this. */
export async function pendingMigrations(database: Pick<pg.Pool, 'query'>): Promise<string[]> {
  const done = await appliedMigrations(database);
  return (await migrationNames()).filter((name) => !done.has(name));
}

async function applyOne(client: pg.Client, name: string, sql: string): Promise<void> {
  const done = `INSERT INTO migrations (name) VALUES (${client.escapeLiteral(name)})`;
  // One message, which PostgreSQL runs as one transaction.
  await client.query(`${sql};\n${done}`).catch((error: unknown) => throwFailed(name, error));
}

/**
 * Makes a migration's indexes of events in each partition first, one after the other. The migration
 * takes them over, so that recording waits for those of one month, not of all. An interrupted run
 * goes on where it was.
 */
async function indexPartitions(client: pg.Client, sql: string): Promise<void> {
  const ofEvents =
    /^create index (?:if not exists )?audit_events(\w+) on audit_events (\([^;]+);/gm;
  const indexes = [...sql.matchAll(ofEvents)];
  if (indexes.length === 0 || (await isCluster(client))) return;
  // Where the table has the index, its partitions have it under names that PostgreSQL chose.
  const { rows } = await client.query<{ partition: string; made: string[] }>(
    `SELECT inhrelid::regclass AS partition,
       ARRAY(SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = inhparent) AS made
     FROM pg_inherits WHERE inhparent = to_regclass('audit_events')`,
  );
  for (const { partition, made } of rows) {
    for (const [, name, columns] of indexes.filter(
      ([, name]) => !made.includes(`audit_events${name}`),
    ))
      await client.query(
        `CREATE INDEX IF NOT EXISTS ${partition}${name} ON ${partition} ${columns}`,
      );
  }
}

function throwFailed(migration: string, error: unknown): never {
  throw new Error(`migration ${migration} failed: ${connectionProblem(error)}`);
}
