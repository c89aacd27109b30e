import type { Agent } from '@indelible/protocol';
import type { AuditEvent, State } from '../api-types.ts';

/* Messages by `type`. New types may be added: answer 2xx to unknown ones. */

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

/** An export is ready: `client.exports.download(data.export.id)`. */
export type ExportReady = Message<
  'audit.export.ready',
  {
    tenantId: string;
    export: {
      id: string;
      rows: number;
      bytes: number;
      /** The SHA-256 of the whole file, in hexadecimal. */
      sha256: string;
      format: 'csv' | 'ndjson';
      expiresAt: string;
    };
  }
>;

/** Alerts of one rule, told together: at most one message about a rule in ten minutes. */
export type AlertRaised = Message<
  'audit.alert.raised',
  {
    tenantId: string;
    alerts: {
      ruleId: string;
      ruleName: string | null;
      count: number;
      /** The ids of the alerts' events, oldest first. */
      ids: string[];
      /** Their page in the panel, which needs sign-in. */
      url: string;
    };
  }
>;

/** A test was requested. */
export type WebhookTested = Message<'audit.webhook.test', { tenantId: string; webhookId: string }>;

/**
 * A request to restore a resource: the call to `restoreUrl`, signed in the same way with the
 * tenant's `restoreSecret`.
 */
export interface RestoreRequested {
  type: 'audit.restore.requested';
  /** `rst_…`, the same at every attempt: give a repeated call the same answer. */
  id: string;
  tenantId: string;
  eventId: string;
  /** `externalId`: your own id, if the event has one. */
  resource: { type: string; id: string; externalId?: string; name: string | null };
  /** The requested state. */
  to: 'before' | 'after';
  /**
   * Who requested it; check their rights in your product. `agents` used the person's token, nearest
   * first.
   */
  requestedBy: {
    id: string;
    /** Your own id, if you named the person by one. */
    externalId?: string;
    email: string | null;
    role: string;
    agents?: Agent[];
  };
  /** Who recorded the event; restore only what your own key recorded. */
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  requestedAt: string;
  /** Absent with `fields`. */
  before?: State | null;
  after?: State | null;
  /** Set only these members of the resource; remove the ones that are null. */
  fields?: State;
  /** The last recorded state of the resource; absent if the log does not contain it. */
  current?: State | null;
}

export type WebhookMessage =
  | EventsRecorded
  | ExportReady
  | AlertRaised
  | WebhookTested
  | RestoreRequested;
