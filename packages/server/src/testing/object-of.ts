import type { ObjectStore } from '../objects/object-store.ts';
import { readObject } from '../objects/read-object.ts';

/** An object of a test; null if it is absent. */
export const objectOf = (objects: ObjectStore, name: string) => readObject(objects, name, 2 ** 24);
