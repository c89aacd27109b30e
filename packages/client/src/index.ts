/**
 * A client for the Indelible audit log service: records, reads, proves and administers over HTTP.
 *
 * @module client
 */

export type {
  AlertGroup,
  AlertKind,
  AlertNotify,
  Category,
  CountOrMore,
  Coverage,
  CoveredSource,
  CsvColumn,
  ErrorCode,
  FieldProblem,
  GroupKey,
  Locale,
  Plan,
  ProofCode,
  Scope,
  SourceGap,
  WarningCode,
} from '@indelible/protocol';
export { FormatError } from '@indelible/protocol';
export type * from './api-types.ts';
export type { AuditSink, RecordContext } from './audit-sink.ts';
export type {
  AlertCalls,
  AlertRule,
  AlertRuleInput,
  AlertRules,
  TestedRule,
  TestRange,
} from './calls/alert-calls.ts';
export type { EventCriteria, ListQuery, PageQuery, StatsQuery } from './calls/event-query.ts';
export type {
  EvidenceCalls,
  OpenedSearch,
  Restore,
  RestoreCalls,
  SavedSearch,
  SearchCalls,
  SearchCheckpoint,
  SearchInput,
  Source,
  View,
  ViewCalls,
  ViewInput,
} from './calls/evidence-calls.ts';
export type { ExportCalls, ExportInput, ExportJob, ExportStatus } from './calls/export-calls.ts';
export type { BodyPage, ConsistencyProof, LogCalls, LogKeys } from './calls/log-calls.ts';
export type { RecordingCalls } from './calls/recording-calls.ts';
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
} from './calls/webhook-calls.ts';
export { type ClientOptions, createClient, type IndelibleClient } from './client.ts';
export { type CatalogueWords, defineCatalogue, type EventCatalogue } from './event/catalogue.ts';
export { idOf } from './event/id-of.ts';
export {
  createOutgoing,
  newEventId,
  type OutgoingEvent,
  type OutgoingOptions,
} from './event/outgoing-event.ts';
export { diffOf } from './event/plain-json.ts';
export { type EventVerdict, type VerifyOptions, verifyEvent } from './event/verify-event.ts';
export type { AnyAction, AnyResourceType, KnownAction, KnownResourceType } from './event/words.ts';
export { isLoopbackUrl, serviceUrl } from './http/address.ts';
export { backoffMs, IndelibleError, PartialBatchError, UnreachableError } from './http/errors.ts';
export {
  type Call,
  createTransport,
  type Params,
  type Retry,
  type Transport,
} from './http/transport.ts';
