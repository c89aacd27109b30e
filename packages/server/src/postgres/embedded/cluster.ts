import { execFile, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Account, runAs } from './account.ts';
import type { Binaries } from './binaries.ts';
import { codeOf } from './error-code.ts';
import { syncFolder } from './secret-file.ts';
import { failureIn } from './server-log.ts';

/** The database of the service, and its logins with the files of their passwords. */
export const database = 'indelible';
export const logins = {
  owner: { name: 'indelible_admin', passwordFile: 'postgresql-admin.password' },
  serving: { name: 'indelible_app', passwordFile: 'postgresql-app.password' },
} as const;

/**
 * Makes sure that `<home>/data` has a cluster for these binaries. initdb works in a separate folder
 * that is renamed when complete, so an interrupted first start leaves no partial cluster. Two
 * processes may do this at once: the first rename wins.
 */
export async function openCluster(
  home: string,
  binaries: Binaries,
  account: Account | undefined,
  password: string,
): Promise<void> {
  const data = join(home, 'data');
  if (!isMade(data)) await makeCluster(home, binaries, account, password);
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  if (version !== binaries.major) {
    throw new Error(
      `The database in ${data} was made by PostgreSQL ${version}, and this release runs ` +
        `${binaries.major}: move it over with pg_upgrade, or serve it elsewhere by DATABASE_URL.`,
    );
  }
}

/**
 * Removes leftovers of interrupted first starts. Only for the owner of the instance lock: another
 * process inside initdb then fails, finds the cluster and is refused properly.
 */
export async function removeUnfinished(home: string): Promise<void> {
  const drafts = readdirSync(home).filter((name) => name.startsWith('initdb-'));
  // Retried: the initdb of a killed service may still be writing.
  const options = { recursive: true, force: true, maxRetries: 10 };
  await Promise.all(drafts.map((name) => rm(join(home, name), options)));
}

async function makeCluster(
  home: string,
  binaries: Binaries,
  account: Account | undefined,
  password: string,
): Promise<void> {
  spreadFolders(home);
  const draft = mkdtempSync(join(home, 'initdb-'));
  try {
    // Written before the folder changes owner: root must not write where others could plant links.
    const passwordFile = join(draft, 'password');
    writeFileSync(passwordFile, password, { mode: 0o600, flag: 'wx' });
    if (account !== undefined) {
      chownSync(passwordFile, account.uid, account.gid);
      chownSync(draft, account.uid, account.gid);
    }
    await runInitdb(binaries, account, join(draft, 'data'), passwordFile);
    renameSync(join(draft, 'data'), join(home, 'data'));
    syncFolder(home);
  } catch (error) {
    if (!isMade(join(home, 'data'))) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * A hint to ext4 to begin new folders of `home` elsewhere on the disk. Without a journal, ext4 does
 * not use the inode of a removed file again for some minutes, and tries each such inode in turn.
 * Beside many removed files, the thousand files of a cluster take half a second longer. Other file
 * systems refuse the hint.
 */
function spreadFolders(home: string): void {
  spawnSync('chattr', ['+T', home]);
}

function isMade(data: string): boolean {
  return existsSync(join(data, 'PG_VERSION'));
}

/**
 * PostgreSQL's own sorting by code point: no upgrade of the C library can change it under an index,
 * and the system needs no locale.
 */
const locale = [
  '--encoding=UTF8',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
];

/**
 * In MB, not PostgreSQL's 16: the commit that needs the next segment first fills it with zeros, and
 * all others wait for that.
 */
const walSegment = '--wal-segsize=4';

async function runInitdb(
  binaries: Binaries,
  account: Account | undefined,
  data: string,
  passwordFile: string,
): Promise<void> {
  const access = [
    '--auth=scram-sha-256',
    `--username=${logins.owner.name}`,
    `--pwfile=${passwordFile}`,
  ];
  const args = [`--pgdata=${data}`, '--data-checksums', walSegment, ...locale, ...access];
  try {
    await promisify(execFile)(join(binaries.bin, 'initdb'), args, runAs(account));
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    const reason = codeOf(error) ?? failureIn(output);
    throw new Error(`PostgreSQL's initdb could not make a database in ${data}: ${reason}.`);
  }
}
