import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { migrate } from '../postgres/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * Superuser and serving login of the run's PostgreSQL, whose database `template` is migrated.
     */
    postgres: { ownerUrl: string; servingUrl: string };
  }
}

/**
 * One real PostgreSQL for the run; each test file clones its database
 * from a migrated template. fsync is off because no test pulls the
 * plug; those that kill something start a server of their own.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'indelible-test-'));
  // As root PostgreSQL runs under another account, which must be able to pass through.
  await chmod(dataDir, 0o711);
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '200',
  };
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => {}, settings });
  const owner = new pg.Client({ connectionString: postgres.ownerUrl });
  await owner.connect();
  await owner.query('CREATE DATABASE template');
  await migrate(databaseUrl(postgres.ownerUrl, 'template'), postgres.servingUrl, Date.now());
  await owner.end();
  project.provide('postgres', { ownerUrl: postgres.ownerUrl, servingUrl: postgres.servingUrl });
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** The same login on another database of the cluster. */
export function databaseUrl(url: string, database: string): string {
  return url.replace(/(\/\/[^/]*\/)[^?]*/, `$1${database}`);
}
