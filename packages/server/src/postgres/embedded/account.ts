import { readFileSync } from 'node:fs';

/** The operating-system account of PostgreSQL if the service runs as root. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** A minimal environment for PostgreSQL's programs, because the service's contains secrets. */
export const environment: Record<string, string> = {
  PATH: '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

/**
 * The account for a service that runs as root, from the text of passwd(5); adds no account. An
 * existing cluster keeps its owner: PostgreSQL refuses a foreign data folder, and a `postgres`
 * account may have been added after the cluster was made under `nobody`. Throws a sentence for the
 * operator if there is no account.
 */
export function chooseAccount(
  passwd: string,
  clusterOwner?: { uid: number; gid: number },
): Account {
  const accounts = passwd.split('\n').flatMap(parseAccount);
  if (clusterOwner !== undefined && clusterOwner.uid !== 0) {
    const name = accounts.find(({ uid }) => uid === clusterOwner.uid)?.name;
    return { name: name ?? `uid ${clusterOwner.uid}`, ...clusterOwner };
  }
  for (const wanted of ['postgres', 'nobody']) {
    const found = accounts.find(({ name, uid }) => name === wanted && uid !== 0);
    if (found !== undefined) return found;
  }
  throw new Error(
    'PostgreSQL does not run as root, and this system has no account postgres or nobody: ' +
      'start the service as a normal user or set DATABASE_URL.',
  );
}

function parseAccount(line: string): Account[] {
  const [name, , uid, gid] = line.split(':');
  if (name === undefined || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return [];
  return [{ name, uid: Number(uid), gid: Number(gid) }];
}

/** The account for this process; `undefined` for a normal user, who runs PostgreSQL directly. */
export function accountOfThisProcess(clusterOwner?: {
  uid: number;
  gid: number;
}): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return chooseAccount(readFileSync('/etc/passwd', 'utf8'), clusterOwner);
}

/**
 * Options that run a child process as `account`. The working folder is `/`, because the account may
 * not have access to ours. Node drops supplementary groups with the uid.
 */
export function runAs(account: Account | undefined) {
  const identity = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  return { ...identity, cwd: '/', env: environment };
}
