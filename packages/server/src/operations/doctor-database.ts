import pg from 'pg';
import { withDatabase } from '../postgres/db.ts';
import { forgetfulNodes, readNodes, undistributed } from '../postgres/distribute.ts';
import { messageOf } from '../postgres/embedded/error-code.ts';
import { isCluster } from '../postgres/engine.ts';
import { daysAheadMin, pendingMigrations } from '../postgres/migrate.ts';
import type { StoredPlan } from '../tenants/plan-changes.ts';
import { readPlans } from '../tenants/plans.store.ts';
import {
  brokenPaths,
  findDangerousPrivileges,
  type LockFacts,
  readDurability,
  readLocks,
  readLogin,
  readMemberships,
  readPartitionNames,
} from './doctor.store.ts';
import { durabilityFinding } from './durability.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const dayMs = 86_400_000;
const migrate = 'run `indelible migrate`';

/**
 * Checks the database as the serving login sees it: version, roles, rights, migrations, partitions.
 * Skips checks that depend on failed ones. Findings are returned, not thrown.
 */
export async function diagnoseDatabase(servingUrl: string, nowMs: number): Promise<Finding[]> {
  const failed = (detail: string) => [fail('database', detail)];
  return withClient(servingUrl, failed, async (client) => {
    const { versionNumber, login, superuser, readOnly } = await readLogin(client);
    const findings = [
      versionFinding(versionNumber),
      writesFinding(readOnly),
      durabilityFinding(await readDurability(client)),
    ];
    const memberships = await readMemberships(client);
    const roles = rolesFinding(memberships, login);
    findings.push(roles);
    if (roles.level === 'fail') return findings;
    findings.push(loginFinding(login, superuser, memberships.get('indelible_owner') ?? false));
    findings.push(await privilegesFinding(client));
    const migrations = await migrationsFinding(servingUrl);
    findings.push(migrations);
    if (migrations.level === 'fail') return findings;
    const locks = locksFinding(await readLocks(client));
    findings.push(await partitionsFinding(client, nowMs), locks);
    return [...findings, ...(await diagnoseCluster(client))];
  });
}

/** Whether the login that migrates can do so. */
export async function diagnoseOwner(ownerUrl: string): Promise<Finding> {
  const check = 'owner login';
  const failed = (detail: string) => fail(check, detail);
  return withClient(ownerUrl, failed, async (client) => {
    const { login, superuser } = await readLogin(client);
    const owner = (await readMemberships(client)).get('indelible_owner') ?? false;
    if (owner || superuser) return ok(check, `${login} can migrate`);
    const detail =
      `${login} is not a member of indelible_owner: ${migrate} with the login that owns ` +
      'the database';
    return fail(check, detail);
  });
}

async function withClient<Found>(
  url: string,
  failed: (detail: string) => Found,
  look: (client: pg.Client) => Promise<Found>,
): Promise<Found> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 10_000,
  });
  client.on('error', () => {}); // shows at the next query
  try {
    await client.connect();
    return await look(client);
  } catch (error) {
    return failed(`cannot be used: ${messageOf(error) || 'no connection'}`);
  } finally {
    await client.end().catch(() => {});
  }
}

function versionFinding(versionNumber: number): Finding {
  const check = 'database version';
  const text = `PostgreSQL ${Math.floor(versionNumber / 10_000)}.${versionNumber % 10_000}`;
  if (versionNumber >= 150_000) return ok(check, text);
  return fail(check, `${text}; 15 or later is needed`);
}

function writesFinding(readOnly: boolean): Finding {
  const check = 'writes';
  if (!readOnly) return ok(check, 'the database takes them');
  const detail =
    'the database is read-only, and recording answers 503: name the primary in DATABASE_URL, or see ' +
    'whether its disk is full';
  return fail(check, detail);
}

function rolesFinding(memberships: ReadonlyMap<string, boolean>, login: string): Finding {
  const check = 'database roles';
  const names = ['indelible_writer', 'indelible_reader'];
  const missing = names.filter((name) => !memberships.get(name));
  if (missing.length === 0) {
    return ok(check, `${login} serves as ${names.join(' and ')}`);
  }
  return fail(check, `${login} is no ${missing.join(', no ')}: ${migrate}`);
}

function loginFinding(login: string, superuser: boolean, owner: boolean): Finding {
  const check = 'serving login';
  if (!superuser && !owner) {
    return ok(check, `${login} has no rights of its own`);
  }
  const why = superuser ? 'is a superuser' : 'can become indelible_owner';
  const detail =
    `${login} ${why}, so a stolen connection could change events: give DATABASE_URL a plain login, ` +
    'and name this one in DATABASE_OWNER_URL';
  return warn(check, detail);
}

async function privilegesFinding(client: pg.Client): Promise<Finding> {
  const check = 'immutable events';
  const [first, ...others] = await findDangerousPrivileges(client);
  if (first === undefined) {
    return ok(check, 'no serving role can change or delete events or the log');
  }
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return fail(check, `${first.role} has ${first.privilege} on ${first.table}${more}: revoke it`);
}

async function migrationsFinding(servingUrl: string): Promise<Finding> {
  const check = 'migrations';
  try {
    const pending = await withDatabase(servingUrl, (db) => pendingMigrations(db.reader));
    if (pending.length === 0) return ok(check, 'all are applied');
    return fail(check, `${pending.join(', ')} not applied: ${migrate}`);
  } catch (error) {
    return fail(check, `cannot be read (${messageOf(error)}): ${migrate}`);
  }
}

// Recording makes missing partitions, but then callers wait for it.
async function partitionsFinding(client: pg.Client, nowMs: number): Promise<Finding> {
  const names = await readPartitionNames(client);
  const check = 'partitions';
  const missing = expectedPartitions(await readPlans(client), nowMs).filter(
    (name) => !names.has(name),
  );
  if (missing.length === 0) {
    return ok(check, `${names.size}, for at least ${daysAheadMin} days ahead`);
  }
  return warn(check, `${missing.length} of the next ${daysAheadMin} days are missing: ${migrate}`);
}

/** Nothing for a plain PostgreSQL. */
async function diagnoseCluster(client: pg.Client): Promise<Finding[]> {
  if (!(await isCluster(client))) return [];
  const check = 'cluster';
  const [table, ...others] = await undistributed(client);
  if (table !== undefined) {
    const more = others.length === 0 ? 'is' : `and ${others.length} more are`;
    const advice = 'stop the service and run `indelible distribute`';
    const detail = `${table} ${more} on the coordinator alone: ${advice}`;
    return [fail(check, detail)];
  }
  const broken = await brokenPaths(client);
  if (broken.length > 0)
    return [
      fail(check, `no connection from ${broken.join(', ')}: tenants of such a node cannot record`),
    ];
  const forgetful = forgetfulNodes(await readNodes(client));
  return [forgetful === null ? ok(check, 'all nodes reach each other') : fail(check, forgetful)];
}

/** A search without times, a count, a retention run and an erasure at the same time. */
const widestStatements = 4;

/** Without room PostgreSQL refuses statements: "out of shared memory". */
export function locksFinding({ relations, perTransaction, connections }: LockFacts): Finding {
  const check = 'locks';
  const [room, needed] = [perTransaction * connections, widestStatements * relations];
  const detail = `room for ${room}; a statement over all partitions takes ${relations}`;
  if (needed <= room) return { check, level: 'ok', detail };
  const least = Math.ceil(needed / connections);
  const advice = `set max_locks_per_transaction of PostgreSQL to ${least} or more`;
  return warn(check, `${detail}: ${advice}`);
}

function expectedPartitions(plans: readonly StoredPlan[], nowMs: number): string[] {
  const dates = Array.from({ length: daysAheadMin + 1 }, (_, day) =>
    new Date(nowMs + day * dayMs).toISOString().replaceAll('-', ''),
  );
  const current = plans.filter(({ retired }) => !retired);
  const names = current.flatMap(({ class: number, unit }) =>
    dates.map((date) => `audit_events_${number}_${date.slice(0, unit === 'day' ? 8 : 6)}`),
  );
  return [...new Set(names)];
}
