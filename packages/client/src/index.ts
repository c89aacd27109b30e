/**
 * A client for the Indelible audit log service: records, reads, proves and administers over HTTP.
 *
 * @module client
 */

export type {
  Category,
  ErrorCode,
  FieldProblem,
  GroupKey,
  Plan,
  ProofCode,
  WarningCode,
} from '@indelible/protocol';
export { FormatError } from '@indelible/protocol';
export { isLoopbackUrl, serviceUrl } from './address.ts';
export type * from './api-types.ts';
export type { AuditSink, RecordContext } from './audit-sink.ts';
export { backoffMs } from './backoff.ts';
export {
  type AnyAction,
  type AnyResourceType,
  type CatalogueWords,
  defineCatalogue,
  type EventCatalogue,
  type KnownAction,
  type KnownResourceType,
} from './catalogue.ts';
export { type ClientOptions, createClient, type IndelibleClient } from './client.ts';
export { diffOf } from './diff-of.ts';
export { IndelibleError, PartialBatchError, UnreachableError } from './errors.ts';
export { newEventId } from './event-id.ts';
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
export { createOutgoing, type OutgoingEvent, type OutgoingOptions } from './outgoing-event.ts';
export type { RecordingCalls } from './recording-calls.ts';
export {
  type Call,
  createTransport,
  type Params,
  type Retry,
  type Transport,
} from './transport.ts';
export { type EventVerdict, type VerifyOptions, verifyEvent } from './verify-event.ts';
export type {
  NewWebhook,
  Webhook,
  WebhookCalls,
  WebhookDelivery,
  WebhookFilters,
  WebhookFormat,
  WebhookInput,
  WebhookTest,
  WebhookType,
} from './webhook-calls.ts';
