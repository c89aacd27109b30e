export { archiveTmpDir } from './command.ts';
export { eraseArchived } from './erase-archived.ts';

export { forgetParts, takeArchiveLock } from './store.ts';
