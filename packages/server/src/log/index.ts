export { type LogToCheck, logsToCheck, storedDamage } from './check-log.store.ts';
export { type CheckedRounds, checkRounds } from './check-rounds.ts';
export type { CheckpointObserver } from './checkpoint.job.ts';
export {
  haltReason,
  holdRounds,
  type PublishedCheckpoint,
  publishedCheckpoint,
  signingKeys,
  storeAlarm,
} from './checkpoint.store.ts';
export { hasRoot } from './guard.store.ts';
export { firstReceivedSince } from './received-since.ts';
export { beginAnew } from './reopen.store.ts';
export { type ReopenDeps, type ReopenedLog, reopenLogs } from './reopen.ts';
export { reopeningSigner } from './reopening-key.ts';
export {
  appendLogs,
  damagedSentence,
  haltedSentence,
  type LogAppend,
  LogDamaged,
  type LogHead,
  lockHeads,
  logIsHalted,
  logSize,
  openLog,
  planAppend,
  planEntries,
  type Recorded,
  readEntries,
  receivedUsOf,
  recordLogs,
  recordOf,
  takeHeads,
  tenantsWithLog,
  unreadable,
} from './store.ts';
export { readIdentity, refusalOf } from './store-identity.ts';
export { treeNodes, treeReader } from './tree.store.ts';
