export { type Clock, createClock } from './clock.ts';
export {
  type ColdReader,
  type ColdSource,
  type Database,
  databaseTime,
  isLockTimeout,
  type OwnerSession,
  openDatabase,
  type Queries,
  readTenant,
  record,
  recordingConnections,
  type TenantTx,
  tenantIn,
  tookTooLong,
  unavailability,
  type WriterTx,
  withOwnerSession,
  write,
  writeForOperations,
  writeInBackground,
} from './db.ts';
export { distribute, undistributed } from './distribute.ts';
export { eachRow, type RowTexts } from './each-row.ts';
export { accountOfThisProcess } from './embedded/account.ts';
export { copyRunningCluster } from './embedded/cluster-copy.ts';
export { copyTree } from './embedded/copy-tree.ts';
export { codeOf, messageOf } from './embedded/error-code.ts';
export { openDataDir, openHome } from './embedded/folders.ts';
export { connectionUrl } from './embedded/postmaster.ts';
export { isPostmaster, readPostmasterPid } from './embedded/postmaster-pid.ts';
export { embeddedFolder, runningServerUrl } from './embedded/running-server.ts';
export { readOrCreateSecretFile, readSecretFile, syncFolder } from './embedded/secret-file.ts';
export { startEmbeddedPostgres } from './embedded-postgres.ts';
export { callForTenants, createNodeGroups, isCluster, isSharded, planOnce } from './engine.ts';
export { daysAheadMin, pendingMigrations } from './migrate.ts';
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
export { countOf, dateOrNull, execute, firstRow, hasRow, raw, rowsOf, sql } from './sql.ts';
export type { Commit } from './transaction.ts';
