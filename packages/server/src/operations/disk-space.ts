import { statfs } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config.ts';

/** Bytes that are free for files of the service: in DATA_DIR, and where its object store is. */
export async function freeBytes({
  dataDir,
  objectStoreUrl,
}: Pick<Config, 'dataDir' | 'objectStoreUrl'>): Promise<number> {
  const isFolder = objectStoreUrl.startsWith('file:');
  const folders = [dataDir, ...(isFolder ? [fileURLToPath(objectStoreUrl)] : [])];
  const free = folders.map(async (folder) => {
    // A folder that is made with its first file says nothing yet.
    const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: Infinity, bsize: 1 }));
    return bavail * bsize;
  });
  return Math.min(...(await Promise.all(free)));
}
