/** A client for the Indelible audit log service: records, reads and administers over HTTP. */

export { isLoopbackUrl, serviceUrl } from './address.ts';
export type * from './api-types.ts';
export { backoffMs } from './backoff.ts';
export { type ClientOptions, createClient, type IndelibleClient } from './client.ts';
export { IndelibleError, UnreachableError } from './errors.ts';
export type { EventCriteria, ListQuery, PageQuery, StatsQuery } from './event-query.ts';
export type {
  EvidenceCalls,
  OpenedSearch,
  Restore,
  RestoreCalls,
  SavedSearch,
  SearchCalls,
  SearchCheckpoint,
} from './evidence-calls.ts';
export type { ExportCalls, ExportInput, ExportJob, ExportStatus } from './export-calls.ts';
export type { BodyPage, ConsistencyProof, LogCalls, LogKeys } from './log-calls.ts';
export {
  type Call,
  createTransport,
  isLogDamaged,
  type Params,
  type Retry,
  type Transport,
} from './transport.ts';
