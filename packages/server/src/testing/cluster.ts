import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { withOwnerSession } from '../postgres/db.ts';
import { distribute } from '../postgres/distribute.ts';
import { migrate } from '../postgres/migrate.ts';

/*
 * `npm run test:citus`: the server's tests on an existing Citus cluster. CITUS_TEST_URLS has the
 * superuser's URL of a database on each node, the coordinator's first, separated by spaces.
 */

/** The URLs; empty without a cluster. */
export function clusterNodes(): string[] {
  return (process.env.CITUS_TEST_URLS ?? '').split(' ').filter((url) => url !== '');
}

const login = 'indelible_test';

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
      await node.query('SET citus.enable_create_role_propagation = off');
      const { rows } = await node.query('SELECT FROM pg_roles WHERE rolname = $1', [login]);
      if (rows.length === 0) await node.query(`CREATE ROLE ${login} LOGIN PASSWORD '${login}'`);
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

const template = (url: string) => Object.assign(new URL(url), { pathname: '/template' }).href;

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
