import type { ObjectStore } from '../../server/src/objects/object-store.ts';
import { readObject } from '../../server/src/objects/read-object.ts';

/** An object of a test; null if it is absent. */
export const objectOf = (objects: ObjectStore, name: string) => readObject(objects, name, 2 ** 24);
