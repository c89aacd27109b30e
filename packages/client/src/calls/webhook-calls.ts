import type { WebhookFacet } from '@indelible/protocol';
import type { Call, SentHeaders, Transport } from '../http/transport.ts';
import { everyItem } from './paging.ts';

/** `webhook`: signed JSON (Standard Webhooks); the others speak to a log platform. */
export type WebhookFormat = 'webhook' | 'splunk_hec' | 'datadog' | 'elastic' | 'generic';

/** What an endpoint may be sent. */
export type WebhookType = 'audit.events.recorded' | 'audit.export.ready';

/** Which events an endpoint is sent: any value of each member; a leading `!` excludes. */
export type WebhookFilters = { [facet in WebhookFacet]?: string[] };

/** One attempt to deliver one message. */
export interface WebhookDelivery {
  /** `dlv_…` */
  id: string;
  /** `msg_…`, the same at every attempt. */
  messageId: string;
  type: string;
  status: 'delivered' | 'failed';
  /** From 1. */
  attempt: number;
  firstSequence: number | null;
  lastSequence: number | null;
  /** How many. */
  events: number;
  at: string;
  durationMs: number;
  responseStatus: number | null;
  /** The first KiB of the answer. */
  response: string | null;
  /** Why it failed, in words for people. */
  reason: string | null;
  nextAttemptAt: string | null;
}

/** An endpoint that is sent a tenant's events, in the order of the log. */
export interface Webhook {
  /** `whk_…` */
  id: string;
  name: string | null;
  url: string;
  format: WebhookFormat;
  types: WebhookType[];
  filters: WebhookFilters;
  options: Record<string, string>;
  hasCredential: boolean;
  status: 'active' | 'paused';
  pausedBecause: 'requested' | 'failing' | null;
  /** Its place in the log. */
  nextSequence: number;
  /** Entries of the log after that place. */
  behind: number;
  /** Failed attempts of the message that is due. */
  attempt: number;
  nextAttemptAt: string | null;
  lastDelivery: WebhookDelivery | null;
  /** Until when the secret before this one signs too. */
  previousSecretValidUntil: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface WebhookInput {
  url: string;
  name?: string | null;
  /** `webhook` unless given. */
  format?: WebhookFormat;
  /** `audit.events.recorded` alone unless given. */
  types?: readonly WebhookType[];
  filters?: WebhookFilters;
  /** Of the format. */
  options?: Record<string, string>;
  /** A token of the receiver; sealed, and never shown again. */
  credential?: string | null;
}

export interface NewWebhook extends Webhook {
  /** `whsec_…`, shown this once; formats that are not signed have none. */
  secret?: string;
}

/** What came of a test. */
export interface WebhookTest {
  ok: boolean;
  /** HTTP status of the answer, if there was one. */
  status: number | null;
  reason: string | null;
  response: string | null;
  durationMs: number;
}

/** Endpoints of the client's tenant; they begin at the log's end. */
export interface WebhookCalls {
  /** Newest first. */
  list(): AsyncGenerator<Webhook, void, undefined>;
  /** Never repeated on its own: the answer is the only place that shows the secret. */
  create(input: WebhookInput): Promise<NewWebhook>;
  get(id: string): Promise<Webhook>;
  /** Omitted members keep their value. */
  update(id: string, changes: Partial<WebhookInput>): Promise<Webhook>;
  remove(id: string): Promise<void>;
  pause(id: string): Promise<Webhook>;
  /** Tries at once. */
  resume(id: string): Promise<Webhook>;
  /** Never repeated on its own. The secret before signs too until `previousValidUntil`. */
  rotateSecret(id: string): Promise<{ secret: string; previousValidUntil: string }>;
  /** Sends a message of type `audit.webhook.test`, or asks what the format asks for health. */
  test(id: string): Promise<WebhookTest>;
  /** Sends again from this sequence on; a place goes back, never forward. */
  replay(id: string, fromSequence: number): Promise<Webhook>;
  /** Newest first. */
  deliveries(id: string): AsyncGenerator<WebhookDelivery, void, undefined>;
}

const path = '/api/webhooks';

export function webhookCalls(send: Transport, headers: SentHeaders): WebhookCalls {
  const of = (id: string) => `${path}/${encodeURIComponent(id)}`;
  const call = async <T>(
    method: Call['method'],
    to: string,
    idempotent: boolean,
    body?: unknown,
  ) => {
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await send({ method, path: to, headers, idempotent, ...text })) as T;
  };
  return {
    list: () => everyItem<Webhook>(send, path, [], headers),
    create: (input) => call('POST', path, false, input),
    get: (id) => call('GET', of(id), true),
    update: (id, changes) => call('PATCH', of(id), true, changes),
    remove: async (id) => void (await call('DELETE', of(id), true)),
    pause: (id) => call('POST', `${of(id)}/pause`, true),
    resume: (id) => call('POST', `${of(id)}/resume`, true),
    rotateSecret: (id) => call('POST', `${of(id)}/secret`, false),
    test: (id) => call('POST', `${of(id)}/test`, false),
    replay: (id, fromSequence) => call('POST', `${of(id)}/replay`, false, { fromSequence }),
    deliveries: (id) => everyItem<WebhookDelivery>(send, `${of(id)}/deliveries`, [], headers),
  };
}
