import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type Config, type Environment, readConfig } from '../config.ts';
import { holdRounds } from '../log/checkpoint.store.ts';
import { draftSuffix } from '../objects/object-name.ts';
import { withOwnerSession } from '../postgres/db.ts';
import { copyRunningCluster } from '../postgres/embedded/cluster-copy.ts';
import { copyTree } from '../postgres/embedded/copy-tree.ts';
import { messageOf } from '../postgres/embedded/error-code.ts';
import { embeddedFolder, runningServerUrl } from '../postgres/embedded/running-server.ts';
import { syncFolder } from '../postgres/embedded/secret-file.ts';
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts';
import { requireDatabase } from '../postgres/run-as-owner.ts';
import { type BackupFacts, backupParts, secretFiles } from './backup-folder.ts';

/**
 * `indelible backup`: copies the embedded database, the secrets of DATA_DIR and a file store into a
 * new folder, which appears when it is complete. A service may record meanwhile. The copy has
 * everything that was committed when copying ended. The store has exactly the rounds of that
 * moment, so the guard accepts both together. Throws an Error whose message is a sentence for the
 * operator.
 */
export async function backUp(env: Environment, folder: string): Promise<BackupFacts> {
  const config = readConfig(env);
  requireEmbedded(config);
  const target = resolve(folder);
  if (existsSync(target)) throw new Error(`${target} exists: name a new folder for the backup`);
  const draft = await mkdtemp(`${target}.part-`).catch((cause: Error) => {
    throw new Error(`${target} cannot be made: ${cause.message}`, { cause });
  });
  try {
    await withOwnerUrl(config, (ownerUrl) => copyAll(config, ownerUrl, draft));
    const facts: BackupFacts = { format: 1, madeAt: new Date().toISOString() };
    const path = join(draft, backupParts.facts);
    await writeFile(path, `${JSON.stringify(facts)}\n`, { mode: 0o600, flush: true });
    syncFolder(draft);
    await rename(draft, target);
    syncFolder(dirname(target));
    return facts;
  } catch (cause) {
    await rm(draft, { recursive: true, force: true });
    throw new Error(`the backup failed: ${messageOf(cause)}`, { cause });
  }
}

export function requireEmbedded({ databaseUrl }: Config): void {
  if (databaseUrl === null) return;
  throw new Error(
    'DATABASE_URL names a PostgreSQL of your own: back it up with its own tools, see ' +
      'docs/operations/backups.md',
  );
}

/** Gives the URL of the running server, or of one that is started for the time of the backup. */
async function withOwnerUrl(
  { dataDir }: Config,
  work: (ownerUrl: string) => Promise<void>,
): Promise<void> {
  const running = runningServerUrl(dataDir, 'owner');
  if (running !== null) return work(running);
  requireDatabase(dataDir);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => {} });
  await work(embedded.ownerUrl).finally(() => embedded.stop());
}

async function copyAll(config: Config, ownerUrl: string, draft: string): Promise<void> {
  const { dataDir } = config;
  const client = new pg.Client({ connectionString: ownerUrl });
  client.on('error', () => {}); // shows at the next query
  await client.connect();
  try {
    const data = join(embeddedFolder(dataDir), 'data');
    const target = join(draft, backupParts.cluster);
    await copyRunningCluster(client, data, target, (end) =>
      copyObjects(config, join(draft, backupParts.objects), async (copyRest) => {
        await withOwnerSession(ownerUrl, (owner) =>
          owner.transaction(async (tx) => {
            // A round that is published now would be in one of the two copies alone.
            await holdRounds(tx);
            await end();
            await copyRest();
          }),
        );
      }),
    );
  } finally {
    await client.end();
  }
  // Secrets that the environment names instead are not there.
  await copyTree(dataDir, join(draft, backupParts.secrets), {
    isLeftOut: (path) => !secretFiles.includes(path),
  });
}

/** Copies a file store; most objects before `atEnd`, which gets a function for the newest. */
async function copyObjects(
  { objectStoreUrl }: Config,
  target: string,
  atEnd: (copyRest: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const url = new URL(objectStoreUrl);
  if (url.protocol !== 'file:') return atEnd(async () => {});
  const from = fileURLToPath(url);
  const isLeftOut = (path: string) => path.endsWith(draftSuffix);
  // File systems keep times to the second at worst.
  const changedSinceMs = Date.now() - 2_000;
  await copyTree(from, target, { isLeftOut });
  await atEnd(() => copyTree(from, target, { isLeftOut, changedSinceMs }));
}
