import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { database, logins } from './cluster.ts';
import { connectionUrl } from './postmaster.ts';
import { isPostmaster, readPostmasterPid } from './postmaster-pid.ts';
import { readSecretFile } from './secret-file.ts';

/** The folder of the embedded PostgreSQL, which a link in DATA_DIR may lead to. */
export const embeddedFolder = (dataDir: string): string =>
  realpathSync(join(dataDir, 'postgresql'));

/**
 * A login's URL of the embedded PostgreSQL that a service on this data folder runs, or has left
 * running; null if none runs. Starts and locks nothing.
 */
export function runningServerUrl(dataDir: string, login: keyof typeof logins): string | null {
  if (!existsSync(join(dataDir, 'postgresql'))) return null;
  const data = join(embeddedFolder(dataDir), 'data');
  const claim = readPostmasterPid(data);
  if (claim === undefined || claim.status !== 'ready' || !isPostmaster(claim.pid, data))
    return null;
  const { name, passwordFile } = logins[login];
  const password = readSecretFile(join(dataDir, passwordFile));
  return connectionUrl(claim.socketFolder, name, password, database);
}
