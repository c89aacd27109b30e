import { fileURLToPath } from 'node:url';
import { fileStore } from './file-store.ts';
import type { ObjectStore } from './object-store.ts';
import { s3Store } from './s3-store.ts';

/** Opens the store of OBJECT_STORE_URL. Throws a sentence for an invalid URL. */
export function openObjectStore(url: string): ObjectStore {
  const { protocol } = new URL(url);
  if (protocol === 'file:') return fileStore(fileURLToPath(url));
  if (protocol === 's3:') return s3Store(url);
  throw new Error(`OBJECT_STORE_URL starts with ${protocol}, which is not supported`);
}
