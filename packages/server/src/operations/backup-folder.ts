import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logins } from '../postgres/embedded/cluster.ts';
import { nullIfMissing } from '../postgres/embedded/error-code.ts';

/* A backup of `indelible backup`, as a folder. */

export const backupParts = {
  /** Written last: a folder without it is no backup. */
  facts: 'backup.json',
  cluster: 'cluster',
  objects: 'objects',
  secrets: 'secrets',
} as const;

/** Secrets in DATA_DIR; a service makes those that its environment does not name. */
export const secretFiles = [
  'platform-api-key',
  'session-secret',
  'signing-key.pem',
  ...Object.values(logins).map(({ passwordFile }) => passwordFile),
];

export interface BackupFacts {
  format: 1;
  /** ISO 8601. */
  madeAt: string;
}

/** Throws a sentence for a folder that is no complete backup of this format. */
export async function readBackupFacts(folder: string): Promise<BackupFacts> {
  const path = join(folder, backupParts.facts);
  const text = await readFile(path, 'utf8').catch(nullIfMissing);
  if (text === null)
    throw new Error(`${folder} is not a backup of \`indelible backup\`: it has no backup.json`);
  const { format, madeAt } = JSON.parse(text) as Partial<BackupFacts>;
  if (format === 1 && madeAt !== undefined) return { format, madeAt };
  throw new Error(`${path} is of another format: restore it with the release that made it`);
}
