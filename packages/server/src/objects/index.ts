export { filesBelow, InsideFolder } from './inside-folder.ts';
export { draftSuffix } from './object-name.ts';
export type { ByteRange, ObjectStore } from './object-store.ts';
export { openObjectStore } from './open-store.ts';
