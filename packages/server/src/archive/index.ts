export { archiveTmpDir } from './command.ts';
export { eraseArchived } from './erase-archived.ts';

export { forgetParts, hasColdEvents, takeArchiveLock } from './store.ts';
