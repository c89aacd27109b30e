import { execFile } from 'node:child_process';
import { readFileSync, statfsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../server/src/postgres/embedded-postgres.ts';
import { daysAheadMin, migrate } from '../../server/src/postgres/migrate.ts';
import { clusterNodes, setUpCluster } from './cluster.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser and serving login of the run's PostgreSQL, with a migrated database `template`. */
    postgres: { ownerUrl: string; servingUrl: string };
    /** See `madeDataDir`. */
    madeDataDir: string;
  }
}

/**
 * One folder for all files of the run, and one real PostgreSQL; each test file clones its database
 * from a migrated template. fsync is off because no test simulates a power failure; tests that kill
 * a server start their own.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (project.config.mode === 'calendar') await import('./shared-clock.ts');
  const [coordinator] = clusterNodes();
  if (coordinator !== undefined) return setUpCluster(project, coordinator);
  const folder = await mkdtemp(join(memoryFolder() ?? tmpdir(), 'indelible-test-'));
  // As root PostgreSQL runs under another account, which must be able to enter.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    // It looks into each clone, of which most are gone within seconds.
    autovacuum: 'off',
    max_wal_size: '128MB',
    max_connections: '200',
    // 4,096 iterations cost 2 ms on either side of every connection.
    scram_iterations: '1',
  };
  const made = join(folder, 'made');
  const first = await startEmbeddedPostgres({ dataDir: made, log: () => {}, settings });
  // As many as a start makes: with three months of them, each copy has over a thousand files more.
  await migrate(first.ownerUrl, first.servingUrl, { daysAhead: daysAheadMin });
  await first.stop();
  const dataDir = join(folder, 'shared');
  await copyFolder(made, dataDir);
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => {}, settings });
  const owner = new pg.Client({ connectionString: databaseUrl(postgres.ownerUrl, 'postgres') });
  await owner.connect();
  // initdb has stored it with more iterations.
  const password = owner.escapeLiteral(owner.password ?? '');
  await owner.query(`ALTER ROLE CURRENT_USER PASSWORD ${password}`);
  await owner.query('CREATE DATABASE template');
  await owner.end();
  const template = (url: string) => databaseUrl(url, 'template');
  // Each partition costs every clone ten files, and every connection its plans; no test needs three
  // months of them.
  const options = { daysAhead: 3 };
  await migrate(template(postgres.ownerUrl), template(postgres.servingUrl), options);
  project.provide('madeDataDir', made);
  project.provide('postgres', { ownerUrl: postgres.ownerUrl, servingUrl: postgres.servingUrl });
  return async () => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

/** With owner and mode of every file, which PostgreSQL checks. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}

/** Room for the files of all workers at once. */
const memoryBytesMin = 3 * 2 ** 30;

/**
 * A folder in memory, if there is room and programs can run there. A database has over a thousand
 * files: on disk, making and dropping it takes over a second of processor time; in memory a
 * twentieth.
 */
function memoryFolder(): string | undefined {
  const folder = '/dev/shm';
  if (process.env.TMPDIR !== undefined || process.platform !== 'linux') return undefined;
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const options = mounts.map((line) => line.split(' ')).find(([, at]) => at === folder)?.[3];
  if (options === undefined || /\b(ro|noexec)\b/.test(options)) return undefined;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= memoryBytesMin ? folder : undefined;
}

/** The URL of this login on another database of the cluster. */
export function databaseUrl(url: string, database: string): string {
  return url.replace(/(\/\/[^/]*\/)[^?]*/, `$1${database}`);
}
