import { connectionProblem, type OwnerSession, type Queries, type WriterTx } from './db.ts';
import { lockTimeoutMs } from './pools.ts';
import { forbidServing } from './serving-lock.ts';

/*
 * PostgreSQL sharded by tenant with Citus. Every table with a tenant_id is distributed by it, so
 * that a tenant's rows lie on one node; `plans` is on every node. The coordinator keeps the rest.
 */

/** Tables that are looked into before the tenant is known, or for all tenants. */
const kept = ['api_keys', 'jobs', 'sessions', 'viewer_links'];

/**
 * Distributes the tables of a migrated database that are not distributed yet, also with their rows;
 * `say` hears of each. Each table is a transaction of its own: after an interruption the next call
 * continues. No service may run. Throws a sentence for the operator.
 */
export async function distribute(
  owner: OwnerSession,
  shards: number,
  say: (line: string) => void,
): Promise<void> {
  await requireCluster(owner);
  await forbidServing(owner);
  await owner.query('SET statement_timeout = 0; SET client_min_messages = warning');
  const left = await undistributed(owner);
  if (left.includes('plans')) await owner.query("SELECT create_reference_table('plans')");
  for (const table of left.filter((each) => each !== 'plans')) {
    await owner
      .transaction((tx) => distributeTable(tx, table, shards))
      .catch((cause: unknown) => {
        throw new Error(`${table} cannot be distributed: ${connectionProblem(cause)}`, { cause });
      });
    say(`distributed ${table}`);
  }
  await distributeFunctions(owner);
  await removeCopiedRows(owner);
}

async function requireCluster(owner: OwnerSession): Promise<void> {
  const { rows } = await owner.query<{ version: string }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  const [major = 0, minor = 0] = rows[0]?.version.split(/\D/).map(Number) ?? [];
  if (major === 0) throw new Error('the database has no extension citus: it stays one PostgreSQL');
  if (major < 13 || (major === 13 && minor < 1))
    throw new Error(`Citus 13.1 or later is needed; this one is ${rows[0]?.version}`);
  await makeRolesOnNodes(owner);
  const nodes = await readNodes(owner);
  if (nodes.length < 2) throw new Error('the cluster has no worker: add one with citus_add_node');
  for (const { name, prepared } of nodes) {
    if (!(prepared > 0))
      throw new Error(`max_prepared_transactions of ${name} is ${prepared}: set it above 0`);
  }
  const forgetful = forgetfulNodes(nodes);
  if (forgetful !== null) throw new Error(forgetful);
}

interface ClusterNode {
  name: string;
  isWorker: boolean;
  prepared: number;
  commit: string;
}

/** Settings that the service needs, as the login of the connection gets them. */
export async function readNodes(client: Queries): Promise<ClusterNode[]> {
  const settings =
    "SELECT current_setting('max_prepared_transactions') || ' ' || current_setting('synchronous_commit')";
  const { rows } = await client.query<{ name: string; isWorker: boolean; settings: string }>(
    `SELECT nodename || ':' || nodeport AS name, true AS "isWorker", result AS settings
     FROM run_command_on_workers($$${settings}$$)
     UNION ALL SELECT 'the coordinator', false, (${settings})`,
  );
  return rows.map(({ settings, ...node }) => {
    const [prepared, commit = ''] = settings.split(' ');
    return { ...node, prepared: Number(prepared), commit };
  });
}

/** What the service sets in its sessions reaches the coordinator alone. Null: none is. */
export function forgetfulNodes(nodes: readonly ClusterNode[]): string | null {
  const names = nodes.filter((each) => each.isWorker && each.commit === 'off');
  if (names.length === 0) return null;
  const all = names.map(({ name }) => name).join(', ');
  return `synchronous_commit of ${all} is off, so a crash loses recorded events: set it to on`;
}

/**
 * Roles that were made before the database had Citus are on the coordinator alone. It knows their
 * members; the operator makes the logins of these on each node.
 */
async function makeRolesOnNodes(owner: OwnerSession): Promise<void> {
  await owner.query('SET ROLE NONE'); // to the login: the owner of tables may make no roles
  const { rows } = await owner.query<{ node: string; result: string }>(
    `SELECT nodename || ':' || nodeport AS node, result FROM (
       SELECT string_agg(format(
           'IF to_regrole(%1$L) IS NULL THEN CREATE ROLE %2$I LOGIN; END IF;', quote_ident(rolname), rolname
         ) || coalesce((SELECT string_agg(format('GRANT %I TO %I;', rolname, pg_get_userbyid(member)), '')
           FROM pg_auth_members WHERE roleid = r.oid), ''), '') AS sql
       FROM pg_roles r WHERE rolname IN ('indelible_owner', 'indelible_writer', 'indelible_reader')
     ) roles, run_command_on_workers(format('DO %L',
       'BEGIN SET LOCAL citus.enable_create_role_propagation = off; ' || sql || ' END')) WHERE NOT success`,
  );
  await owner.query('SET ROLE indelible_owner');
  if (rows[0]) throw new Error(`${rows[0].node} lacks the roles of the service: ${rows[0].result}`);
}

/**
 * Tables that are to be distributed and are not, `plans` and `tenants` first; those that others
 * reference before them.
 */
export async function undistributed(owner: Pick<OwnerSession, 'query'>): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class c
     WHERE relnamespace = 'indelible'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname <> ALL ($1)
       AND (relname IN ('plans', 'tenants') OR EXISTS (SELECT FROM pg_attribute
         WHERE attrelid = c.oid AND attname = 'tenant_id'))
       AND c.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition WHERE partmethod = 'h'
         OR relname = 'plans' AND partmethod = 'n' AND repmodel = 't')
     ORDER BY relname <> 'plans', relname <> 'tenants',
       NOT EXISTS (SELECT FROM pg_constraint WHERE confrelid = c.oid), relname`,
    [kept],
  );
  return rows.map(({ name }) => name);
}

async function distributeTable(tx: WriterTx, table: string, shards: number): Promise<void> {
  // A foreign key needs both of its tables distributed: the tables that have one follow at once.
  const { rows: keys } = await tx.query<{ child: string; name: string; text: string }>(
    `SELECT conrelid::regclass::text AS child, quote_ident(conname) AS name,
       pg_get_constraintdef(oid) AS text
     FROM pg_constraint WHERE contype = 'f' AND confrelid = $1::regclass`,
    [table],
  );
  for (const { child, name } of keys) {
    await tx.query(`ALTER TABLE ${child} DROP CONSTRAINT ${name}`);
  }
  for (const name of [table, ...new Set(keys.map(({ child }) => child))]) {
    if (name === 'tenants')
      await tx.query("SELECT create_distributed_table('tenants', 'id', shard_count => $1)", [
        shards,
      ]);
    else
      await tx.query(
        `SELECT create_distributed_table($1::regclass, 'tenant_id', colocate_with => 'tenants')
         WHERE $1::regclass NOT IN (SELECT logicalrelid FROM pg_dist_partition WHERE partmethod = 'h')`,
        [name],
      );
  }
  for (const { child, name, text } of keys) {
    await tx.query(`ALTER TABLE ${child} ADD CONSTRAINT ${name} ${text}`);
  }
}

/**
 * A function that takes a tenant first and is STRICT runs on the node of that tenant. There the
 * session has no time limits of the service: the function needs one of its own, or a locked log
 * would use up that of the statement. These functions call others that take several tenants. Those
 * are made on the nodes first, as are the functions that retention calls for all tenants.
 */
async function distributeFunctions(owner: OwnerSession): Promise<void> {
  const { rows } = await owner.query<{ name: string; tenant: string | null }>(
    `SELECT oid::regprocedure::text AS name,
       CASE WHEN proargnames[1] IN ('home', 'tenant') THEN proargnames[1] END AS tenant
     FROM pg_proc WHERE pronamespace = 'indelible'::regnamespace AND proname <> 'rewind_readers'
       AND (proisstrict AND proargnames[1] IN ('home', 'tenant') OR proargnames[1] = 'tenants'
         OR proname = 'first_id_at')
     ORDER BY tenant NULLS FIRST`,
  );
  for (const { name, tenant } of rows) {
    if (tenant === null) {
      await owner.query('SELECT create_distributed_function($1)', [name]);
      continue;
    }
    await owner.query(`ALTER FUNCTION ${name} SET lock_timeout = ${lockTimeoutMs}`);
    await owner.query(
      "SELECT create_distributed_function($1, $2, colocate_with := 'log_heads', force_delegation := true)",
      [name, tenant],
    );
  }
  // Citus gives a function on a node the rights of a new one, which every login may call.
  await owner.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA indelible FROM PUBLIC');
}

/** Removes the rows that were copied to the shards, also after a run that was interrupted. */
async function removeCopiedRows(owner: OwnerSession): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT logicalrelid::text AS name FROM pg_dist_partition JOIN pg_class c ON c.oid = logicalrelid
     WHERE partmethod IN ('h', 'n') AND NOT c.relispartition`,
  );
  for (const { name } of rows) {
    await owner.query('SELECT truncate_local_data_after_distributing_table($1)', [name]);
  }
}
