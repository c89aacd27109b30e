import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseVerifierKey } from '@indelible/protocol';
import type { Logger } from 'pino';
import { type Config, type Environment, readConfig } from '../config.ts';
import { sha } from '../crypto/sha256.ts';
import { type ReopenedLog, reopenLogs } from '../log/reopen.ts';
import { reopeningSigner } from '../log/reopening-key.ts';
import { openObjectStore } from '../objects/open-store.ts';
import type { WriterTx } from '../postgres/db.ts';
import { announcePartitions } from '../postgres/partitions.store.ts';
import { runAsOwner, withMigratedSession } from '../postgres/run-as-owner.ts';
import { recordOwnIn } from '../record/own-events.store.ts';
import { archiveTenants, type TenantArchive } from './archive.job.ts';
import type { ArchiveDeps } from './archived-part.ts';
import { createDraftThread, threadFrom } from './draft-thread.ts';
import { tenantFolder } from './layout.ts';
import { openArchive } from './open-archive.ts';
import { partLimits } from './part.ts';
import { type RestoredTenant, recordErasures, restoreTenants } from './restore-archive.ts';
import {
  beginDueRun,
  forgetParts,
  keepWholeRun,
  listParts,
  type PartRow,
  takeArchiveLock,
} from './store.ts';

/**
 * `indelible archive run`: archives closed months of one log, or of all logs with an archive; see
 * `archiveTenants`. Runs as the owner: of DATABASE_OWNER_URL, or of the embedded PostgreSQL, which
 * a service may be using. Null if another process is archiving. Throws an Error with a sentence for
 * the operator.
 */
export function archiveLog(
  env: Environment,
  tenantId: string | null,
): Promise<TenantArchive[] | null> {
  const config = readConfig(env);
  return runAsOwner(config, failed, (ownerUrl) => runArchive(config, ownerUrl, tenantId));
}

const failed = 'the archive cannot be used';

/** `indelible archive list`: the bookmarked parts, by tenant and sequence. */
export function listArchive(env: Environment, tenantId: string | null): Promise<PartRow[]> {
  return runAsOwner(readConfig(env), failed, (ownerUrl) =>
    withMigratedSession(ownerUrl, (owner) => owner.transaction((tx) => listParts(tx, tenantId))),
  );
}

/**
 * `indelible archive forget`: the next run archives the tenant's log from its first entry, after
 * its archive was moved away. Throws an Error while any of it is in the object store.
 */
export function forgetArchive(env: Environment, tenantId: string): Promise<void> {
  const config = readConfig(env);
  return runAsOwner(config, failed, async (ownerUrl) => {
    const left = await openObjectStore(config.objectStoreUrl).list(tenantFolder(tenantId));
    if (left.length > 0) {
      throw new Error(
        `${tenantFolder(tenantId)} holds ${left.length} objects; move them to another folder first`,
      );
    }
    await withMigratedSession(ownerUrl, async (owner) => {
      if (!(await takeArchiveLock(owner)))
        throw new Error('another process is archiving; retry when it has finished');
      const forgotten = await owner.transaction((tx) => forgetParts(tx, tenantId));
      if (forgotten === 0) throw new Error(`nothing of the tenant ${tenantId} was archived`);
    });
  });
}

/** The result of a restore. */
export interface RestoredArchive {
  tenants: RestoredTenant[];
  /** Published logs that the archive does not contain, by their former id. */
  missing: ReopenedLog[];
}

/**
 * `indelible archive restore`: creates the tenants of an archive, in a folder or at an s3 URL, in
 * this service, which must have none. Atomic. Throws an Error with a sentence for the operator.
 */
export function restoreArchive(
  env: Environment,
  where: string,
  { tenantId = null, vkeys = [] }: { tenantId?: string | null; vkeys?: readonly string[] },
): Promise<RestoredArchive> {
  const config = readConfig(env);
  return runAsOwner(config, failed, async (ownerUrl) => {
    const archive = await openArchive(where);
    const objects = openObjectStore(config.objectStoreUrl);
    try {
      return await withMigratedSession(ownerUrl, async (owner) => {
        const { now } = owner;
        const recordOwn = await recordOwnIn(owner, config.catalogue, now);
        const deps = { sha, now, recordOwn, vkeys, objects };
        const loaded = await owner.transaction(async (tx) => {
          const restored = await restoreTenants(tx, deps, archive, tenantId);
          const archived = new Map(
            restored.map(({ tenantId, checkpoint, note }) => [
              tenantId,
              { size: checkpoint.size, note },
            ]),
          );
          const publicKeys = vkeys.map((vkey) => parseVerifierKey(sha, vkey).publicKey);
          const openSigner = reopeningSigner(config);
          const reopened = await reopenLogs(tx, { ...deps, publicKeys, openSigner, archived });
          const tenants: RestoredTenant[] = [];
          for (const each of restored) {
            await recordErasures(tx, deps, each);
            const { tenantId, name, size, events } = each;
            const logId = reopened.find((log) => log.tenantId === tenantId)?.logId ?? '';
            tenants.push({ tenantId, name, size, events, logId });
          }
          return { tenants, missing: reopened.filter((log) => log.tenantId === null) };
        });
        // No session may miss what is loaded already.
        while (!(await announcePartitions(owner)));
        return loaded;
      });
    } finally {
      await archive.close();
    }
  });
}

const retryMs = 3_600_000;

/**
 * A run of a service with the owner's login, if ARCHIVE_INTERVAL is over; null if it is not, or if
 * another process archives. False if the archive of a tenant stopped.
 */
export async function archiveInBackground(
  ownerUrl: string,
  config: Config,
  logger: Logger,
  stopping: AbortSignal,
): Promise<boolean | null> {
  const { archiveIntervalMs } = config;
  if (archiveIntervalMs === null) return null;
  const outcomes = await archiveWhenDue(config, ownerUrl, archiveIntervalMs, { stopping });
  if (outcomes === null) return null;
  tell(logger, outcomes);
  return outcomes.every(({ problem }) => problem === null);
}

/** Logs counts and sentences: a tenant's id is not personal data; its name never appears. */
function tell(logger: Logger, outcomes: readonly TenantArchive[]): void {
  const parts = outcomes.flatMap((outcome) => outcome.parts);
  const events = parts.reduce((sum, each) => sum + each.events, 0);
  logger.info(
    { tenants: outcomes.length, parts: parts.length, events },
    'the archive run has finished',
  );
  for (const { tenantId, problem } of outcomes) {
    if (problem !== null)
      logger.error({ tenantId, problem }, 'the archive of a tenant cannot continue');
  }
  const contradicted = parts.reduce((sum, each) => sum + each.contradicted, 0);
  if (contradicted > 0) logger.error({ contradicted }, 'archived events do not match the log');
}

/**
 * A run of the service, if the interval since the last one is over; null if it is not, or if
 * another process archives. A failed run is due again after an hour, not after an interval.
 */
export async function archiveWhenDue(
  config: Config,
  ownerUrl: string,
  intervalMs: number,
  changes: Partial<ArchiveDeps> = {},
): Promise<TenantArchive[] | null> {
  const keepingTime = <T>(work: (tx: WriterTx, nowMs: number) => Promise<T>) =>
    withMigratedSession(ownerUrl, (owner) => {
      const nowMs = (changes.now ?? owner.now)();
      return owner.transaction((tx) => work(tx, nowMs));
    });
  const pauses = { intervalMs, retryMs };
  const began = await keepingTime(async (tx, nowMs) =>
    (await beginDueRun(tx, nowMs, pauses)) ? nowMs : null,
  );
  if (began === null) return null;
  const outcomes = await runArchive(config, ownerUrl, null, changes);
  const isWhole = outcomes?.every(({ problem, waits }) => problem === null && !waits) === true;
  if (isWhole && !changes.stopping?.aborted) await keepingTime((tx) => keepWholeRun(tx, began));
  return outcomes;
}

/** Archives with a given owner's URL, like `archiveLog`. */
export function runArchive(
  config: Config,
  ownerUrl: string,
  tenantId: string | null,
  changes: Partial<ArchiveDeps> = {},
): Promise<TenantArchive[] | null> {
  return withMigratedSession(ownerUrl, async (owner) => {
    if (!(await takeArchiveLock(owner))) return null;
    const { now = owner.now } = changes;
    const thread = createDraftThread({ ownerUrl });
    const deps: ArchiveDeps = {
      owner: (work) => owner.transaction(work),
      sha,
      now,
      objects: openObjectStore(config.objectStoreUrl),
      recordOwn: await recordOwnIn(owner, config.catalogue, now),
      tmpDir: await archiveTmpDir(config.dataDir),
      limits: partLimits,
      thread,
      threadFrom,
    };
    return archiveTenants({ ...deps, ...changes }, tenantId).finally(() => thread.close());
  });
}

/** The folder for temporary files. Removes files of killed runs; only one process archives. */
export async function archiveTmpDir(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'tmp');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const left = (await readdir(folder)).filter((name) => name.startsWith('archive-'));
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
  return folder;
}
