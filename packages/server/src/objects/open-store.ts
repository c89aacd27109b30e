import { fileURLToPath } from 'node:url';
import { fileStore } from './file-store.ts';
import type { ObjectStore } from './object-store.ts';
import { s3Store } from './s3-store.ts';

const stores = new Map<string, (url: string) => ObjectStore>([
  ['file:', (url) => fileStore(fileURLToPath(url))],
  ['s3:', s3Store],
]);

/** How OBJECT_STORE_URL may start. */
export const storeProtocols = [...stores.keys()];

/** Opens the store of OBJECT_STORE_URL. Throws a sentence for an invalid URL. */
export function openObjectStore(url: string): ObjectStore {
  const { protocol } = new URL(url);
  const open = stores.get(protocol);
  if (open === undefined)
    throw new Error(`OBJECT_STORE_URL starts with ${protocol}, which is not supported`);
  return open(url);
}
