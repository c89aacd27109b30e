export { archiveTmpDir } from './command.ts';
export { eraseArchived } from './erase-archived.ts';
export { tenantFolder } from './layout.ts';
export { forgetParts, takeArchiveLock } from './store.ts';
