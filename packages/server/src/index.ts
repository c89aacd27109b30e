export type { TenantArchive } from './archive/archive.job.ts';
export { entryOf as archivedEntryOf } from './archive/archived-row.ts';
export { bodyLine as archivedBodyLine } from './archive/body-line.ts';
export {
  archiveLog,
  forgetArchive,
  listArchive,
  type RestoredArchive,
  restoreArchive,
} from './archive/command.ts';
export { type ArchiveManifest, parseManifest as parseArchiveManifest } from './archive/manifest.ts';
export {
  type Archive,
  type FoundPart,
  type NamedPart,
  openArchive,
} from './archive/open-archive.ts';
export type { PartRow } from './archive/store.ts';
export { type Environment, readConfig } from './config.ts';
export { newSigningKey, openSigner } from './crypto/signer.ts';
export { certificateText } from './erasure/certificate.ts';
export {
  type ErasureTarget,
  eraseNow,
  erasurePlan,
  type Offboarded,
  offboardingOf,
  offboardTenant,
} from './erasure/command.ts';
export type { Erased, ErasurePlan } from './erasure/erase.ts';
export type { Requester } from './erasure/erasure-event.ts';
export type { LogToCheck } from './log/check-log.store.ts';
export type { ReopenedLog } from './log/reopen.ts';
export { migrateDatabase, startService } from './main.ts';
export { backUp } from './operations/backup.command.ts';
export { distributeDatabase } from './operations/distribute.command.ts';
export { diagnose } from './operations/doctor.ts';
export type { Finding } from './operations/finding.ts';
export { type OwnService, withOwnService } from './operations/own-service.ts';
export { reopenLog } from './operations/reopen.command.ts';
export { restoreBackup } from './operations/restore-backup.command.ts';
export { startEmbeddedPostgres } from './postgres/embedded-postgres.ts';
export { retentionPlan, retentionRun } from './retention/command.ts';
export type { RetentionPlan, RetentionRun } from './retention/retention.job.ts';
export type { Role, Service } from './serve.ts';
