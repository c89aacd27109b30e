import type * as Api from './api-types.ts';
import { createDownload } from './calls/download.ts';
import {
  type ListQuery,
  type PageQuery,
  queryParams,
  type StatsQuery,
} from './calls/event-query.ts';
import { type EvidenceCalls, evidenceCalls } from './calls/evidence-calls.ts';
import { type ExportCalls, exportCalls } from './calls/export-calls.ts';
import { type LogCalls, logCalls } from './calls/log-calls.ts';
import { eventsPath, everyItem, post, read } from './calls/paging.ts';
import { type RecordingCalls, recordingCalls } from './calls/recording-calls.ts';
import { type WebhookCalls, webhookCalls } from './calls/webhook-calls.ts';
import type { EventCatalogue } from './event/catalogue.ts';
import type { AnyAction, AnyResourceType } from './event/words.ts';
import { serviceUrl } from './http/address.ts';
import { createTransport, type Retry, type SentHeaders, type Transport } from './http/transport.ts';

export interface ClientOptions<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** Address of the service, such as `https://audit.example.com`. */
  url: string;
  /**
   * API key or JWT. Plain http only to this machine, unless `insecure`. Without a key, a browser
   * sends its session cookie to its own origin.
   */
  key?: string;
  /** The tenant of reads, and of events that name none. */
  tenantId?: string;
  /** Why an operator reads a tenant's data; the tenant sees it. */
  reason?: string;
  /** The operator, if the credential is a platform key. */
  operatorEmail?: string;
  /** The allowed words of events; without it, all words that the service accepts. */
  catalogue?: EventCatalogue<A, R>;
  /** Additional key names whose values are masked before sending; the service's own always are. */
  maskedKeys?: readonly string[];
  insecure?: boolean;
  /** Time limit of one attempt; default 30 s. */
  timeoutMs?: number;
  /** The most attempts of a call that is safe to retry; default 4. */
  attempts?: number;
  fetch?: typeof globalThis.fetch;
  onRetry?: (retry: Retry) => void;
  signal?: AbortSignal;
}

/** Methods throw IndelibleError if the service refuses, and UnreachableError without an answer. */
export interface IndelibleClient<A extends string = AnyAction, R extends string = AnyResourceType>
  extends RecordingCalls<A, R>,
    EvidenceCalls {
  /** One event with its states. The read of an operator is recorded. */
  get(id: string): Promise<Api.AuditEvent>;
  /** Every matching event; fetches pages on demand. */
  list(query?: ListQuery): AsyncGenerator<Api.AuditEvent, void, undefined>;
  /** One page of the list, with cursors to the next and previous page. */
  page(query: PageQuery): Promise<Api.EventPage>;
  stats(query: StatsQuery): Promise<Api.Stats>;
  tenants: {
    get(id: string): Promise<Api.Tenant>;
    list(): AsyncGenerator<Api.Tenant, void, undefined>;
    /**
     * Creates or changes a tenant; omitted settings keep their value. With `restoreUrl` never
     * repeated automatically: only the first answer shows a new secret.
     */
    put(id: string, settings: Partial<Api.TenantSettings>): Promise<Api.WrittenTenant>;
  };
  /** Keys of a tenant, or of the platform (`null`). */
  apiKeys: {
    /** Never repeated automatically: only this answer shows the key. */
    create(tenantId: string | null, input: Api.ApiKeyInput): Promise<Api.NewApiKey>;
    list(tenantId: string | null): AsyncGenerator<Api.ApiKey, void, undefined>;
    revoke(tenantId: string | null, keyId: string): Promise<void>;
  };
  /** Links that open the panel, for a backend that has signed in the person. */
  viewerLinks: {
    /**
     * The link opens the panel once, as `actor`: give it only to that person's browser. Never
     * repeated automatically, because the log records each operator's link.
     */
    create(input: Api.ViewerLinkInput): Promise<Api.ViewerLink>;
  };
  /** The tenant's log, for verification. */
  log: LogCalls;
  exports: ExportCalls;
  /** Endpoints that receive the tenant's events. */
  webhooks: WebhookCalls;
  /** Resolves if the service can record and read. */
  ready(): Promise<void>;
}

/**
 * A client of one service with one credential. It holds no connection and needs no closing. Throws
 * TypeError for an invalid address, or one to which the key must not be sent.
 */
export function createClient<A extends string = AnyAction, R extends string = AnyResourceType>(
  options: ClientOptions<A, R>,
): IndelibleClient<A, R> {
  const { key = null, insecure = false } = options;
  requireSendable(key);
  const transport = {
    baseUrl: serviceUrl(options.url, { key: key !== null, insecure }),
    key,
    timeoutMs: options.timeoutMs ?? 30_000,
    attempts: options.attempts ?? 4,
    fetch: options.fetch ?? globalThis.fetch,
    onRetry: options.onRetry ?? (() => {}),
    signal: options.signal ?? null,
  };
  const send = createTransport(transport);
  const declared = declaredHeaders(options);
  const headers = { 'x-tenant-id': options.tenantId, ...declared };
  return {
    ...recordingCalls(send, options),
    ...readingCalls(send, headers),
    tenants: tenantCalls(send, declared),
    apiKeys: keyCalls(send, declared),
    viewerLinks: { create: (input) => post(send, '/api/viewer-links', input) },
    log: logCalls(send, headers),
    ...evidenceCalls(send, headers),
    exports: exportCalls(send, createDownload(transport), headers),
    webhooks: webhookCalls(send, headers),
    ready: async () => void (await read(send, '/readyz')),
  };
}

// Checked here, because the platform's error would quote the key.
function requireSendable(key: string | null): void {
  if (key === null || /^[\x21-\x7e]+$/.test(key)) return;
  throw new TypeError('the API key is empty or contains a line break');
}

function readingCalls(send: Transport, headers: SentHeaders) {
  return {
    get: (id: string) =>
      read<Api.AuditEvent>(send, `${eventsPath}/${encodeURIComponent(id)}`, [], headers),
    list: (query: ListQuery = {}) =>
      everyItem<Api.AuditEvent>(send, eventsPath, queryParams(query), headers),
    page: async (query: PageQuery) =>
      read<Api.EventPage>(send, eventsPath, queryParams(query), headers),
    stats: async (query: StatsQuery) =>
      read<Api.Stats>(send, `${eventsPath}/stats`, queryParams(query), headers),
  };
}

function declaredHeaders({ reason, operatorEmail }: ClientOptions): SentHeaders {
  return {
    'x-access-reason': reason && encodeURIComponent(reason),
    'x-operator-email': operatorEmail,
  };
}

const tenantPath = (id: string) => `/api/tenants/${encodeURIComponent(id)}`;

function tenantCalls(send: Transport, headers: SentHeaders): IndelibleClient['tenants'] {
  return {
    get: (id) => read<Api.Tenant>(send, tenantPath(id)),
    list: () => everyItem<Api.Tenant>(send, '/api/tenants'),
    put: async (id, settings) => {
      const body = JSON.stringify(settings);
      // A lost first answer may have held the new secret; a repeated call would not show it.
      const idempotent = settings.restoreUrl == null;
      const call = { method: 'PUT', path: tenantPath(id), body, headers, idempotent } as const;
      return (await send(call)) as Api.WrittenTenant;
    },
  };
}

function keyCalls(send: Transport, headers: SentHeaders): IndelibleClient['apiKeys'] {
  const pathOf = (tenantId: string | null) =>
    tenantId === null ? '/api/api-keys' : `${tenantPath(tenantId)}/api-keys`;
  return {
    create: (tenantId, input) => post(send, pathOf(tenantId), input, headers),
    list: (tenantId) => everyItem<Api.ApiKey>(send, pathOf(tenantId)),
    revoke: async (tenantId, keyId) => {
      const path = `${pathOf(tenantId)}/${encodeURIComponent(keyId)}`;
      await send({ method: 'DELETE', path, headers, idempotent: true });
    },
  };
}
