import type { AuditEvent, State } from '../api-types.ts';

/*
 * What arrives, by `type`. More types may come: whoever does not know one answers 2xx and is done.
 */

interface Message<Type extends string, Data> {
  type: Type;
  /** When the message was made; the same at every attempt. */
  timestamp: string;
  data: Data;
}

/** Events of one tenant, oldest first, at most 100, in the order of its log. */
export type EventsRecorded = Message<
  'audit.events.recorded',
  { tenantId: string; events: AuditEvent[] }
>;

/** A file of events can be downloaded: `client.exports.download(data.export.id)`. */
export type ExportReady = Message<
  'audit.export.ready',
  {
    tenantId: string;
    export: {
      id: string;
      rows: number;
      bytes: number;
      /** Of the whole file, in hexadecimal. */
      sha256: string;
      format: 'csv' | 'ndjson';
      expiresAt: string;
    };
  }
>;

/** Somebody has asked for a test. */
export type WebhookTested = Message<'audit.webhook.test', { tenantId: string; webhookId: string }>;

/**
 * A tenant asks for a resource to be set back: the call to `restoreUrl`, which is signed in the
 * same way with the tenant's `restoreSecret`.
 */
export interface RestoreRequested {
  type: 'audit.restore.requested';
  /** `rst_…`, the same at every attempt: answer a repeated call as you did before. */
  id: string;
  tenantId: string;
  eventId: string;
  resource: { type: string; id: string; name: string | null };
  /** Which state is wanted. */
  to: 'before' | 'after';
  /** Who asks: check their rights again. */
  requestedBy: { id: string; email: string | null; role: string };
  /** Who recorded the event: restore what your own key has recorded. */
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  requestedAt: string;
  before: State | null;
  after: State | null;
  /** The state in which the resource was last recorded; absent when the log does not say. */
  current?: State | null;
}

export type WebhookMessage = EventsRecorded | ExportReady | WebhookTested | RestoreRequested;
