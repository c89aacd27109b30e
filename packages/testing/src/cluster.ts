import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { withOwnerSession } from '../../server/src/postgres/db.ts';
import { distribute } from '../../server/src/postgres/distribute.ts';
import { codeOf } from '../../server/src/postgres/embedded/error-code.ts';
import { migrate } from '../../server/src/postgres/migrate.ts';

/*
 * `npm run test:citus`: the server's tests on an existing Citus cluster. CITUS_TEST_URLS has the
 * superuser's URL of a database on each node, the coordinator's first, separated by spaces. A
 * supervisor must start nodes again that have ended: the nemesis fills disks, which ends a server.
 */

/** The URLs; empty without a cluster. */
export function clusterNodes(): string[] {
  return (process.env.CITUS_TEST_URLS ?? '').split(' ').filter((url) => url !== '');
}

/** The URL of a node that never was in the cluster, CITUS_TEST_SPARE_URL; null without one. */
export const spareNode = (): string | null => process.env.CITUS_TEST_SPARE_URL || null;

/**
 * Shell commands that stop the last worker at once, without a shutdown, and start it again:
 * CITUS_TEST_WORKER_STOP and CITUS_TEST_WORKER_START. Empty without them.
 */
export const workerCommands = () => ({
  stop: process.env.CITUS_TEST_WORKER_STOP ?? '',
  start: process.env.CITUS_TEST_WORKER_START ?? '',
});

/** Shard and node of the tenant's log, and another worker. */
export async function homeOf(owner: pg.Client, tenantId: string) {
  const { rows } = await owner.query(
    `SELECT s.shardid AS shard, s.nodename AS name, s.nodeport AS port FROM citus_shards s
     WHERE table_name = 'log_heads'::regclass
       AND shardid = get_shard_id_for_distribution_column('log_heads', $1::uuid)`,
    [tenantId],
  );
  const [{ shard, name, port }] = rows;
  const workers = clusterNodes().slice(1);
  const away = workers.map((url) => new URL(url)).find((url) => Number(url.port) !== Number(port));
  return { shard, from: [name, Number(port)], to: [away?.hostname, Number(away?.port)] };
}

const login = 'indelible_test';

/** Makes the login of the service on a node, unless it is there. */
async function makeLogin(node: pg.Client): Promise<void> {
  await node.query('SET citus.enable_create_role_propagation = off');
  const { rows } = await node.query('SELECT FROM pg_roles WHERE rolname = $1', [login]);
  if (rows.length === 0) await node.query(`CREATE ROLE ${login} LOGIN PASSWORD '${login}'`);
}

/** What joins a cluster: the login of the service, and an empty database with the extension. */
export async function makeEmptyNode(url: string, database: string): Promise<void> {
  await on(url, async (node) => {
    await makeLogin(node);
    await node.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await node.query(`CREATE DATABASE ${database}`);
    // Citus looks on a new node for the database that it knew before the clone.
    const { rows } = await node.query("SELECT FROM pg_database WHERE datname = 'template'");
    if (rows.length === 0) await node.query('CREATE DATABASE template');
  });
  await on(databaseUrl(url, database), (node) => node.query('CREATE EXTENSION citus'));
}

/**
 * Makes the database `template` on every node, distributed; test databases are clones of it. It has
 * no Citus when it is migrated: what Citus would then copy by itself is left to `distribute`.
 */
export async function setUpCluster(
  project: TestProject,
  coordinator: string,
): Promise<() => Promise<void>> {
  for (const url of clusterNodes()) {
    await on(url, async (node) => {
      await makeLogin(node);
      await node.query('DROP DATABASE IF EXISTS template WITH (FORCE)');
      await node.query('CREATE DATABASE template');
    });
  }
  const serving = new URL(coordinator);
  [serving.username, serving.password] = [login, login];
  await migrate(template(coordinator), template(serving.href), { daysAhead: 3 });
  for (const url of clusterNodes())
    await on(template(url), (node) => node.query('CREATE EXTENSION citus'));
  await on(template(coordinator), async (client) => {
    const [own, ...workers] = clusterNodes().map((url) => new URL(url));
    const address = (url: URL | undefined) => [url?.hostname, Number(url?.port || 5432)];
    await client.query('SELECT citus_set_coordinator_host($1, $2)', address(own));
    for (const url of workers) await client.query('SELECT citus_add_node($1, $2)', address(url));
  });
  await withOwnerSession(template(coordinator), (owner) => distribute(owner, 4, () => {}));
  project.provide('postgres', { ownerUrl: coordinator, servingUrl: serving.href });
  return async () => {};
}

const databaseUrl = (url: string, database: string) =>
  Object.assign(new URL(url), { pathname: `/${database}` }).href;
const template = (url: string) => databaseUrl(url, 'template');

/** On every node of the cluster; without one, on the server of `url`. */
export async function onNodes(
  url: string,
  work: (node: pg.Client) => Promise<unknown>,
): Promise<void> {
  const nodes = clusterNodes();
  await Promise.all((nodes.length > 0 ? nodes : [url]).map((node) => on(node, work)));
}

export async function on(url: string, work: (node: pg.Client) => Promise<unknown>): Promise<void> {
  const node = new pg.Client({ connectionString: url });
  await node.connect();
  try {
    await work(node);
  } finally {
    await node.end();
  }
}

const objectInUse = '55006';

/** Runs `sql` on a node once no session there uses the database. */
export async function runAlone(node: pg.Client, database: string, sql: string): Promise<void> {
  const all = 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1';
  await node.query(all, [database]);
  try {
    await node.query(sql);
  } catch (error) {
    // A connection that was being made is not listed yet; on a cluster the extension makes some.
    if (codeOf(error) === objectInUse) return runAlone(node, database, sql);
    throw error;
  }
}
