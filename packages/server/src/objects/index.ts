export { filesBelow, InsideFolder } from './inside-folder.ts';
export type { ObjectStore } from './object-store.ts';
export { openObjectStore } from './open-store.ts';
