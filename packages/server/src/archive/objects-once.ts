import { hash } from 'node:crypto';
import type { ObjectStore } from '../objects/object-store.ts';

/** The archive cannot continue by itself; the message is for the operator. */
export class ArchiveConflict extends Error {}

export function sha256Hex(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

/**
 * Writes an object that must never be overwritten. An existing one with the same bytes is ours:
 * only the answer was lost. Throws ArchiveConflict if it has other bytes.
 */
export async function putOnce(
  objects: ObjectStore,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  if (await objects.putIfAbsent(name, bytes)) return;
  const stored = await objects.get(name);
  if (stored !== null && sha256Hex(stored) === sha256Hex(bytes)) return;
  throw new ArchiveConflict(
    `${name} already exists in the object store with other content: another ` +
      'service writes to this archive',
  );
}
