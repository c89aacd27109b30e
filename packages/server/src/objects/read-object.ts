import type { Readable } from 'node:stream';
import { FormatError } from '@indelible/protocol';
import type { ObjectStore } from './object-store.ts';

/**
 * Opens an object that others may have written, so that a hostile one fills neither memory nor
 * disk. Null if it is absent; FormatError if it has more than `bytesMax`.
 */
export async function openObject(
  objects: ObjectStore,
  name: string,
  bytesMax: number,
): Promise<Readable | null> {
  const found = await objects.getStream(name);
  if (found === null || found.bytes <= bytesMax) return found?.body ?? null;
  found.body.destroy();
  throw new FormatError(`${name} is too long`);
}

/** Reads a whole object. */
export async function readObject(
  objects: ObjectStore,
  name: string,
  bytesMax: number,
): Promise<Uint8Array | null> {
  const found = await openObject(objects, name, bytesMax);
  return found && Buffer.concat(await found.toArray());
}
