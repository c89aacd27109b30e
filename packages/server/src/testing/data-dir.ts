import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { copyFolder } from './global-setup.ts';

/** A folder that PostgreSQL can enter, which as root runs under another account. */
export function openFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `indelible-${name}-`));
  chmodSync(folder, 0o711);
  return folder;
}

/** Makes the data folder of an installation that was migrated but never served. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await copyFolder(inject('madeDataDir'), dataDir);
}
