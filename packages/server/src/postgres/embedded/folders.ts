import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, runAs } from './account.ts';
import { codeOf, reasonOf } from './error-code.ts';
import { port } from './settings.ts';

/** The folder of a root service for files that PostgreSQL's account could not reach elsewhere. */
export const systemFolder = '/var/lib/indelible';

/** The longest path of a Unix socket: `sun_path` without its final NUL. */
const socketPathBytesMax = process.platform === 'darwin' ? 103 : 107;

/**
 * Makes `dataDir` if needed (not listable by others) and returns its real path. Throws a sentence
 * if it is not writable.
 */
export function openDataDir(dataDir: string): string {
  try {
    const made = mkdirSync(dataDir, { recursive: true }) !== undefined;
    if (made) chmodSync(dataDir, passableMode());
    rmdirSync(mkdtempSync(join(dataDir, '.probe-')));
    return realpathSync(dataDir);
  } catch (error) {
    throw new Error(`The data folder ${dataDir} cannot be written: ${reasonOf(error)}.`);
  }
}

/** Owner of the cluster of `dataDir`, `undefined` before the first start. */
export function clusterOwner(dataDir: string): { uid: number; gid: number } | undefined {
  return statSync(join(dataDir, 'postgresql', 'data', 'PG_VERSION'), { throwIfNoEntry: false });
}

/**
 * The folder of all PostgreSQL files for `dataDir`: `<dataDir>/postgresql`, or one in the system
 * folder if `account` cannot reach that; then `<dataDir>/postgresql` is a link, so that a moved
 * data folder keeps its database, and a removed one begins again. It belongs to this process, not
 * to `account`: what root opens, renames and removes in it cannot be a planted link. The account
 * owns only the folders inside.
 */
export function openHome(
  dataDir: string,
  account: Account | undefined,
  log: (message: string) => void,
): string {
  const path = join(dataDir, 'postgresql');
  if (account !== undefined && !isThere(path) && !canWork(account, dataDir)) {
    const target = unusedSystemFolder(dataDir);
    log(`the account ${account.name} cannot reach ${dataDir}: the database goes to ${target}`);
    linkUnlessLinked(target, path);
  }
  const home = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
    ? readlinkSync(path)
    : path;
  makePassable(home);
  if (account !== undefined && !canWork(account, home)) {
    throw new Error(
      `The account ${account.name}, which runs PostgreSQL for root, cannot reach ${home}: ` +
        'let others pass through the folders above it (chmod o+x).',
    );
  }
  return realpathSync(home);
}

/** The link of the faster of two concurrent starts counts. */
function linkUnlessLinked(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/** Makes a folder that others can enter, if root needs that, but not list. */
export function makePassable(path: string): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, passableMode());
}

/**
 * The folder of the server's socket: in `home`, or a short temporary folder if that path is too
 * long for the kernel. Private to PostgreSQL's account.
 */
export function openSocketFolder(home: string, account: Account | undefined): string {
  for (const parent of [home, tmpdir(), '/tmp']) {
    const folder = join(parent, parent === home ? 'socket' : `indelible-${hashOf(home)}`);
    const pathBytes = Buffer.byteLength(join(folder, `.s.PGSQL.${port}`));
    if (pathBytes > socketPathBytesMax) continue;
    if (account !== undefined && !canWork(account, parent)) continue;
    makePrivate(folder, account);
    return folder;
  }
  throw new Error(`No folder for PostgreSQL's socket: the path ${tmpdir()} is too long or closed.`);
}

/**
 * Throws unless `folder` is a real folder of `account` (or of this process) that no other account
 * may enter. In a shared temporary folder another account could plant a link, or its own server
 * under our name, to get the password.
 */
export function requirePrivate(folder: string, account: Account | undefined): void {
  const found = lstatSync(folder);
  const owner = account?.uid ?? process.getuid?.();
  if (found.isDirectory() && found.uid === owner && (found.mode & 0o777) === 0o700) return;
  throw new Error(
    `${folder} must be a folder of uid ${owner} with mode 0700: remove it and start again.`,
  );
}

function makePrivate(folder: string, account: Account | undefined): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  // Still ours if it was just made, or after an interrupted start. Links are not followed.
  if (account !== undefined && lstatSync(folder).uid === process.getuid?.()) {
    lchownSync(folder, account.uid, account.gid);
  }
  requirePrivate(folder, account);
}

/**
 * Whether `account` can make files below `folder`, tested by doing so: mode bits do not show access
 * lists, mount options and network file systems.
 */
function canWork(account: Account, folder: string): boolean {
  const probe = mkdtempSync(join(folder, '.probe-'));
  try {
    chownSync(probe, account.uid, account.gid);
    const script = ': > "$0/file" && rm "$0/file"';
    return spawnSync('/bin/sh', ['-c', script, probe], runAs(account)).status === 0;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true });
  }
}

/** For a new database. The folder of a deleted data folder is not reused, and not removed. */
function unusedSystemFolder(dataDir: string): string {
  makePassable(systemFolder);
  const folder = join(systemFolder, hashOf(dataDir));
  return isThere(folder) ? `${folder}-${randomBytes(4).toString('hex')}` : folder;
}

function hashOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function passableMode(): number {
  return process.getuid?.() === 0 ? 0o711 : 0o700;
}
