export { archiveTmpDir } from './command.ts';
export { eraseArchived } from './erase-archived.ts';
export { tenantFolder } from './layout.ts';
export { forgetSegments, takeArchiveLock } from './store.ts';
