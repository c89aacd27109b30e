import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, type Environment, readConfig } from '../config.ts';
import { draftSuffix } from '../objects/object-name.ts';
import { accountOfThisProcess } from '../postgres/embedded/account.ts';
import { copyTree } from '../postgres/embedded/copy-tree.ts';
import { nullIfMissing } from '../postgres/embedded/error-code.ts';
import { openDataDir, openHome } from '../postgres/embedded/folders.ts';
import { syncFolder } from '../postgres/embedded/secret-file.ts';
import { requireEmbedded } from './backup.command.ts';
import { backupParts, readBackupFacts } from './backup-folder.ts';

interface RestoredBackup {
  madeAt: string;
  dataDir: string;
  /** Whether the objects are those of the backup; false: those that were there, or of S3. */
  objects: boolean;
}

/**
 * `indelible restore-backup`: puts a backup of `indelible backup` into DATA_DIR, which must have no
 * database. Existing secrets and objects stay: they are newer, and only they can tell what was
 * published after the backup. A cut-off run may be repeated. Throws an Error whose message is a
 * sentence for the operator.
 */
export async function restoreBackup(env: Environment, folder: string): Promise<RestoredBackup> {
  const config = readConfig(env);
  requireEmbedded(config);
  const backup = resolve(folder);
  const { madeAt } = await readBackupFacts(backup);
  const dataDir = openDataDir(config.dataDir);
  const account = accountOfThisProcess();
  const home = openHome(dataDir, account, () => {});
  const data = join(home, 'data');
  if (existsSync(data)) {
    throw new Error(`${dataDir} has a database: stop the service and move ${data} away first`);
  }
  // The name of a first start that was cut off: the next start removes what is left of it.
  const draft = join(await mkdtemp(join(home, 'initdb-')), 'data');
  await copyTree(join(backup, backupParts.cluster), draft, { owner: account });
  const objects = await restoreObjects(config, join(backup, backupParts.objects));
  // Passwords belong to the cluster. Of any other secret the one that is there is newer.
  await copyTree(join(backup, backupParts.secrets), dataDir, {
    isLeftOut: (name) => existsSync(join(dataDir, name)) && !name.endsWith('.password'),
  });
  await rename(draft, data);
  syncFolder(home);
  return { madeAt, dataDir, objects };
}

// While it is there, the objects beside it are those of a restore that was cut off.
const unfinished = `restore-backup${draftSuffix}`;

async function restoreObjects({ objectStoreUrl }: Config, from: string): Promise<boolean> {
  const url = new URL(objectStoreUrl);
  if (url.protocol !== 'file:' || !existsSync(from)) return false;
  const folder = fileURLToPath(url);
  const found = (await readdir(folder).catch(nullIfMissing)) ?? [];
  if (found.length > 0 && !found.includes(unfinished)) return false;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, unfinished), '', { mode: 0o600, flush: true });
  syncFolder(folder);
  await copyTree(from, folder);
  await rm(join(folder, unfinished));
  syncFolder(folder);
  return true;
}
