export { type Clock, createClock } from './clock.ts';
export {
  type Database,
  databaseTime,
  type OwnerSession,
  openDatabase,
  readTenant,
  record,
  recordingPlaces,
  type TenantTx,
  unavailability,
  type WriterTx,
  write,
  writeForOperations,
  writeInBackground,
} from './db.ts';
export { codeOf } from './embedded/error-code.ts';
export { connectionUrl } from './embedded/postmaster.ts';
export { isPostmaster, readPostmasterPid } from './embedded/postmaster-pid.ts';
export { readOrCreateSecretFile, readSecretFile } from './embedded/secret-file.ts';
export { startEmbeddedPostgres } from './embedded-postgres.ts';
export { pendingMigrations } from './migrate.ts';
export {
  boolArray,
  byteaArray,
  int2Array,
  int8Array,
  jsonArray,
  textArray,
  timeArray,
  uuidArray,
} from './pg-arrays.ts';
export { runAsOwner, withMigratedSession } from './run-as-owner.ts';
export { requireNoneServing } from './serving-lock.ts';
