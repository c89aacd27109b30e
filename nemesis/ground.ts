import { join } from 'node:path';
import { clusterNodes } from '@indelible/testing/cluster';
import { endServer, serverPid } from '@indelible/testing/embedded-postgres-service';
import { cloneTemplate } from '@indelible/testing/service';
import pg from 'pg';
import { expect } from 'vitest';
import { startEmbeddedPostgres } from '../packages/server/src/postgres/embedded-postgres.ts';
import { migrate } from '../packages/server/src/postgres/migrate.ts';

/** Asks a process under attack seldom enough to leave the machine to the others. */
export const patiently = { interval: 200 };

/** The PostgreSQL under attack. */
export interface Ground {
  ownerUrl: string;
  servingUrl: string;
  /** Ends it, or the node that is chosen, as a crash would; it comes back by itself. */
  crash(choose: (nodes: readonly string[]) => string): Promise<void>;
  /** Process ids of its servers. */
  servers(): Promise<number[]>;
  stop(): Promise<void>;
}

/** An embedded PostgreSQL in `place`; a database on the cluster of CITUS_TEST_URLS if it is set. */
export function openGround(place: string): Promise<Ground> {
  return clusterNodes().length > 0 ? onCluster() : embeddedIn(join(place, 'postgresql'));
}

async function embeddedIn(dataDir: string): Promise<Ground> {
  const { ownerUrl, servingUrl, stop } = await startEmbeddedPostgres({ dataDir, log: () => {} });
  await migrate(ownerUrl, servingUrl);
  const servers = async () => [serverPid(dataDir)].filter((pid) => pid !== undefined);
  return { ownerUrl, servingUrl, servers, stop, crash: () => endServer(dataDir, 'SIGKILL') };
}

async function onCluster(): Promise<Ground> {
  const { ownerUrl, servingUrl, drop } = await cloneTemplate();
  const nodes = clusterNodes();
  return {
    ownerUrl,
    servingUrl,
    crash: async (choose) => {
      const node = choose(nodes);
      // A killed session ends all others of its node, which then recovers.
      await ask(node, 'pg_backend_pid()', killed);
      // Tenants of other nodes record meanwhile, and would have the next fault begin without it.
      await expect.poll(() => ask(node, "'back'").catch(String), patiently).toBe('back');
    },
    servers: () =>
      Promise.all(
        nodes.map(async (url) =>
          Number.parseInt(await ask(url, "pg_read_file('postmaster.pid')"), 10),
        ),
      ),
    stop: drop,
  };
}

const killed = (pid: string) => process.kill(Number(pid), 'SIGKILL');

/** A text that a server computes, and what is done with it while the session lasts. */
async function ask(url: string, what: string, then: (text: string) => void = () => {}) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {}); // the session may be what is killed
  await client.connect();
  const { rows } = await client.query<{ text: string }>(`SELECT ${what} AS text`);
  then(rows[0]?.text ?? '');
  await client.end();
  return rows[0]?.text ?? '';
}
