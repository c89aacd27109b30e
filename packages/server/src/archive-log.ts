import { hash } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createCatalogue, type Sha256 } from '@indelible/protocol';
import {
  type ArchiveDeps,
  archiveTenants,
  segmentLimits,
  type TenantArchive,
} from './archive/archive.job.ts';
import { withArchiveLock } from './archive/lock.store.ts';
import { beginDueRun, listSegments, type SegmentRow } from './archive/store.ts';
import { type Config, type Environment, readConfig } from './config.ts';
import { asOwner, connectionProblem, type WriterTx } from './db.ts';
import { startEmbeddedPostgres } from './embedded-postgres.ts';
import { recordOwnWith } from './events/own-events.store.ts';
import { createPartitionKeeper } from './events/partitions.ts';
import { makePartitions, readServiceId } from './events/store.ts';
import { createUuidSource } from './events/uuid-source.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { type ObjectStore, openObjectStore } from './objects.ts';
import type { OwnEvent, RecordOwn } from './own-event.ts';
import { createRandom } from './random.ts';

export type { ArchivedSegment, TenantArchive } from './archive/archive.job.ts';
export type { SegmentRow } from './archive/store.ts';

/**
 * `indelible archive run`: archives what is closed of the logs, of one tenant or of all whose plan has
 * it, see `archiveTenants`. As the owner: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which no
 * service may be using. Null when another process is archiving. Throws an Error whose message is one
 * sentence for the operator.
 */
export function archiveLog(
  env: Environment,
  tenantId: string | null,
): Promise<TenantArchive[] | null> {
  return withOwner(env, (config, ownerUrl) => runArchive(config, ownerUrl, tenantId));
}

/** `indelible archive list`: the segments that are bookmarked, by tenant and sequence. */
export function listArchive(env: Environment, tenantId: string | null): Promise<SegmentRow[]> {
  return withOwner(env, (_, ownerUrl) => asOwner(ownerUrl, (tx) => listSegments(tx, tenantId)));
}

/**
 * A run of the service itself, when the interval since the last one is over; null when it is not, or
 * another process has it. `changes` is for tests.
 */
export async function archiveWhenDue(
  config: Config,
  ownerUrl: string,
  intervalMs: number,
  changes: Partial<ArchiveDeps> = {},
): Promise<TenantArchive[] | null> {
  const now = changes.now ?? Date.now;
  const isDue = await asOwner(ownerUrl, (tx) => beginDueRun(tx, now(), intervalMs));
  return isDue ? runArchive(config, ownerUrl, null, changes) : null;
}

/** As `archiveLog`, with an owner's URL that is known. */
export function runArchive(
  config: Config,
  ownerUrl: string,
  tenantId: string | null,
  changes: Partial<ArchiveDeps> = {},
): Promise<TenantArchive[] | null> {
  return withArchiveLock(ownerUrl, async () => {
    const objects = openObjectStore(config.objectStoreUrl);
    const deps = await archiveDeps(config, ownerUrl, objects);
    return archiveTenants({ ...deps, ...changes }, tenantId);
  });
}

async function archiveDeps(
  config: Config,
  ownerUrl: string,
  objects: ObjectStore,
): Promise<ArchiveDeps> {
  const tmpDir = await emptyTmpDir(config.dataDir);
  const recordOwn = await asOwner(ownerUrl, (tx) => ownerRecords(tx, config));
  const owner: ArchiveDeps['owner'] = (work) => asOwner(ownerUrl, work);
  return { owner, sha, now: Date.now, objects, recordOwn, tmpDir, limits: segmentLimits };
}

/** What killed runs left is removed: only one runs at a time. */
async function emptyTmpDir(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'tmp');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const left = (await readdir(folder)).filter((name) => name.startsWith('archive-'));
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
  return folder;
}

export const sha: Sha256 = (data) => hash('sha256', data, 'buffer');

/** Records as the service would, within transactions of the owner. */
async function ownerRecords(tx: WriterTx, { sensitiveTypes }: Config): Promise<RecordOwn> {
  const random = createRandom();
  const deps = {
    sha,
    random,
    newUuid: createUuidSource(random),
    catalogue: createCatalogue({ sensitiveTypes }),
    now: Date.now,
    serviceId: await readServiceId(tx),
  };
  return (own: WriterTx, tenantId: string, event: OwnEvent) => {
    const partitions = createPartitionKeeper((wanted) => makePartitions(own, [wanted]));
    return recordOwnWith({ ...deps, partitions })(own, tenantId, event);
  };
}

/** Runs `work` with the URL of a migrated database's owner. */
async function withOwner<T>(
  env: Environment,
  work: (config: Config, ownerUrl: string) => Promise<T>,
): Promise<T> {
  const config = readConfig(env);
  const { databaseUrl, databaseOwnerUrl, dataDir } = config;
  if (databaseUrl !== null) return migrated(config, databaseOwnerUrl ?? databaseUrl, work);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => {} });
  try {
    await migrate(embedded.ownerUrl, embedded.servingUrl, Date.now());
    return await migrated(config, embedded.ownerUrl, work);
  } finally {
    await embedded.stop();
  }
}

async function migrated<T>(
  config: Config,
  ownerUrl: string,
  work: (config: Config, ownerUrl: string) => Promise<T>,
): Promise<T> {
  try {
    const pending = await asOwner(ownerUrl, (tx) => pendingMigrations(tx));
    if (pending.length > 0) throw new Error(`it lacks ${pending.join(', ')}; migrate it first`);
    return await work(config, ownerUrl);
  } catch (cause) {
    throw new Error(`the archive cannot be used: ${connectionProblem(cause)}`, { cause });
  }
}
