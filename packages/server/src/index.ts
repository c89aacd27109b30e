export { type Environment, readConfig } from './config.ts';
export { diagnose, type Finding } from './doctor.ts';
export { migrateDatabase, type Service, startService } from './main.ts';
export { type ReopenedLog, reopenLog } from './reopen-log.ts';
export {
  type RetentionPlan,
  type RetentionRun,
  retentionPlan,
  retentionRun,
} from './run-retention.ts';
export { newSigningKey, openSigner } from './signer.ts';
