import type { FacetName, MessageType, WebhookFormat } from '@indelible/protocol';
import type { JsonCalls } from './json-calls.ts';

export type { WebhookFormat };

/** Types of messages that a webhook can receive. */
export type WebhookType = MessageType;

/** Selects events: any value of each member; a leading `!` excludes. */
export type WebhookFilters = { [facet in FacetName]?: string | readonly string[] };

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
  /** The number of events. */
  events: number;
  at: string;
  durationMs: number;
  responseStatus: number | null;
  /** The first KiB of the answer. */
  response: string | null;
  /** Why it failed, for people. */
  reason: string | null;
  nextAttemptAt: string | null;
}

/** A webhook that receives a tenant's events in the order of the log. */
export interface Webhook {
  /** `whk_…` */
  id: string;
  name: string | null;
  url: string;
  format: WebhookFormat;
  types: WebhookType[];
  filters: { [facet in FacetName]?: string[] };
  options: Record<string, string>;
  hasCredential: boolean;
  /** Names of its own headers, in lower case, sorted. */
  headerNames: string[];
  status: 'active' | 'paused';
  pausedBecause: 'requested' | 'failing' | null;
  /** Its position: the next sequence to send. */
  nextSequence: number;
  /** Entries of the log from its position on. */
  behind: number;
  /** Failed attempts of the current message. */
  attempt: number;
  nextAttemptAt: string | null;
  lastDelivery: WebhookDelivery | null;
  /** Until when the previous secret also signs. */
  previousSecretValidUntil: string | null;
  createdAt: string;
  updatedAt: string;
}

export interface WebhookInput {
  url: string;
  name?: string | null;
  /** Default: `webhook`. */
  format?: WebhookFormat;
  /** Default: only `audit.events.recorded`. */
  types?: readonly WebhookType[];
  filters?: WebhookFilters;
  /** The options of the format. */
  options?: Record<string, string>;
  /** A token of the receiver; stored encrypted, never shown again. */
  credential?: string | null;
  /**
   * Headers of each message, at most 10; stored encrypted, never shown again. An update keeps those
   * that it does not name; null removes one.
   */
  headers?: Readonly<Record<string, string | null>>;
}

export interface NewWebhook extends Webhook {
  /** `whsec_…`, only in this answer; absent for formats without signatures. */
  secret?: string;
}

/** The result of a test. */
export interface WebhookTest {
  ok: boolean;
  /** HTTP status of the answer, if any. */
  status: number | null;
  reason: string | null;
  response: string | null;
  durationMs: number;
}

/** Webhooks of the client's tenant. A new one starts at the end of the log. */
export interface WebhookCalls {
  /** Newest first. */
  list(): AsyncGenerator<Webhook, void, undefined>;
  /** Never repeated automatically: only this answer shows the secret. */
  create(input: WebhookInput): Promise<NewWebhook>;
  get(id: string): Promise<Webhook>;
  /** Omitted members keep their value. */
  update(id: string, changes: Partial<WebhookInput>): Promise<Webhook>;
  remove(id: string): Promise<void>;
  pause(id: string): Promise<Webhook>;
  /** Starts the next attempt at once. */
  resume(id: string): Promise<Webhook>;
  /** Never repeated automatically. The previous secret also signs until `previousValidUntil`. */
  rotateSecret(id: string): Promise<{ secret: string; previousValidUntil: string }>;
  /** Sends a message of type `audit.webhook.test`, or the health check of the format. */
  test(id: string): Promise<WebhookTest>;
  /** Sends again from this sequence on. `conflict` if the webhook has not come to it yet. */
  replay(id: string, fromSequence: number): Promise<Webhook>;
  /** Never sends the events before this sequence, which the receiver does not accept. */
  skip(id: string, toSequence: number, reason: string): Promise<Webhook>;
  /** Newest first. */
  deliveries(id: string): AsyncGenerator<WebhookDelivery, void, undefined>;
}

const path = '/api/webhooks';

export function webhookCalls({ get, every, post, put, remove }: JsonCalls): WebhookCalls {
  const of = (id: string) => `${path}/${encodeURIComponent(id)}`;
  return {
    list: () => every(path),
    create: (input) => post(path, input),
    get: (id) => get(of(id)),
    update: (id, changes) => put('PATCH', of(id), changes),
    remove: (id) => remove(of(id)),
    pause: (id) => put('POST', `${of(id)}/pause`),
    resume: (id) => put('POST', `${of(id)}/resume`),
    rotateSecret: (id) => post(`${of(id)}/secret`),
    test: (id) => post(`${of(id)}/test`),
    replay: (id, fromSequence) => post(`${of(id)}/replay`, { fromSequence }),
    skip: (id, toSequence, reason) => post(`${of(id)}/skip`, { toSequence, reason }),
    deliveries: (id) => every(`${of(id)}/deliveries`),
  };
}
