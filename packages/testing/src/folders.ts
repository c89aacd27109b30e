import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { atEnd } from './at-end.ts';
import { copyFolder } from './global-setup.ts';

/**
 * A folder that goes at the end (see `atEnd`). PostgreSQL, which runs under another account as
 * root, can enter it.
 */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-'));
  chmodSync(folder, 0o711);
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

/** Makes the data folder of an installation that was migrated but never served. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await copyFolder(inject('madeDataDir'), dataDir);
}
