import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ArchiveDeps, TenantArchive } from '../archive/archive.job.ts';
import { runArchive } from '../archive-log.ts';
import { readConfig } from '../config.ts';
import type { TestService } from './service.ts';
import { platformKey } from './service.ts';

/** Publishes what is recorded, and archives it as the service's own job does. */
export async function archiveNow(
  service: TestService,
  changes: Partial<ArchiveDeps> = {},
  objectStoreUrl?: string,
): Promise<TenantArchive[]> {
  await service.app.checkpoints.tick();
  const config = readConfig({
    PLATFORM_API_KEY: platformKey,
    DATABASE_URL: service.servingUrl,
    DATA_DIR: service.dataDir,
    ...(objectStoreUrl === undefined ? {} : { OBJECT_STORE_URL: objectStoreUrl }),
  });
  await mkdir(join(service.dataDir, 'tmp'), { recursive: true });
  const now = () => service.clock.now;
  const outcomes = await runArchive(config, service.ownerUrl, null, { now, ...changes });
  if (outcomes === null) throw new Error('another process is archiving');
  return outcomes;
}

/** The rows of a query, as any reader of the archive with DuckDB gets them. */
export async function duckDb(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const result = await connection.runAndReadAll(sql);
    return result.getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
