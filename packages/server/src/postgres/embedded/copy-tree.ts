import { constants } from 'node:fs';
import { copyFile, lchown, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from './account.ts';
import { nullIfMissing } from './error-code.ts';

export interface CopyOptions {
  /** Paths inside the folder that are left out; of a folder, its contents too. */
  isLeftOut?: (path: string) => boolean;
  /** Leaves out files that the target has, unless they have changed since this moment. */
  changedSinceMs?: number;
  /** Whose the copies are; this process's without it. */
  owner?: Account | undefined;
}

/**
 * Copies a folder in which other processes write meanwhile. The copies survive a power failure. A
 * file that vanishes while it is copied is left out. Files and folders alone, no links.
 */
export async function copyTree(from: string, to: string, options: CopyOptions = {}): Promise<void> {
  await copyFolder(from, to, '', options);
}

async function copyFolder(
  from: string,
  to: string,
  path: string,
  options: CopyOptions,
): Promise<void> {
  const entries = await readdir(join(from, path), { withFileTypes: true }).catch(nullIfMissing);
  if (entries === null) return;
  await mkdir(join(to, path), { recursive: true, mode: 0o700 });
  await giveAway(join(to, path), options.owner);
  for (const entry of entries) {
    const inside = join(path, entry.name);
    if (options.isLeftOut?.(inside)) continue;
    if (entry.isDirectory()) await copyFolder(from, to, inside, options);
    else if (entry.isFile()) await copyOne(join(from, inside), join(to, inside), options);
  }
  await syncPath(join(to, path));
}

async function copyOne(from: string, to: string, options: CopyOptions): Promise<void> {
  const { changedSinceMs, owner } = options;
  if (changedSinceMs !== undefined && !(await isWanted(from, to, changedSinceMs))) return;
  const copied = await copyFile(from, to, constants.COPYFILE_FICLONE).then(
    () => true,
    nullIfMissing,
  );
  if (copied === null) return;
  await giveAway(to, owner);
  await syncPath(to);
}

async function isWanted(from: string, to: string, changedSinceMs: number): Promise<boolean> {
  if ((await stat(to).catch(nullIfMissing)) === null) return true;
  const found = await stat(from).catch(nullIfMissing);
  return found !== null && found.mtimeMs >= changedSinceMs;
}

async function giveAway(path: string, owner: Account | undefined): Promise<void> {
  if (owner !== undefined) await lchown(path, owner.uid, owner.gid);
}

/** Makes a file, or the names in a folder, survive a power failure. */
export async function syncPath(path: string): Promise<void> {
  const opened = await open(path, 'r');
  await opened.sync().finally(() => opened.close());
}
