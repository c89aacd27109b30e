export type { ArchivedRow } from './archive/archived-row.ts';
export { entryOf as archivedEntryOf } from './archive/archived-row.ts';
export { bodyLine as archivedBodyLine } from './archive/body-line.ts';
export { type ArchiveManifest, parseManifest as parseArchiveManifest } from './archive/manifest.ts';
export { type Archive, type FoundSegment, openArchive } from './archive/open-archive.ts';
export {
  archiveLog,
  forgetArchive,
  listArchive,
  type RestoredArchive,
  restoreArchive,
  type SegmentRow,
  type TenantArchive,
} from './archive-log.ts';
export { type Environment, readConfig } from './config.ts';
export { diagnose, type Finding } from './doctor.ts';
export { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
export {
  certificateText,
  type Erased,
  type ErasurePlan,
  type ErasureTarget,
  eraseNow,
  erasurePlan,
  type Offboarded,
  type OffboardingCertificate,
  offboardingOf,
  offboardTenant,
  type Requester,
} from './erase-log.ts';
export { migrateDatabase, type Role, type Service, startService } from './main.ts';
export { type OwnService, withOwnService } from './own-service.ts';
export { type ReopenedLog, reopenLog } from './reopen-log.ts';
export {
  type RetentionPlan,
  type RetentionRun,
  retentionPlan,
  retentionRun,
} from './run-retention.ts';
export { newSigningKey, openSigner } from './signer.ts';
