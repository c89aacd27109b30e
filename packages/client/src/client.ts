import type * as Api from './api-types.ts';
import { type AlertCalls, alertCalls } from './calls/alert-calls.ts';
import { createDownload } from './calls/download.ts';
import {
  type ListQuery,
  type PageQuery,
  queryParams,
  type StatsQuery,
} from './calls/event-query.ts';
import { type EvidenceCalls, evidenceCalls } from './calls/evidence-calls.ts';
import { type ExportCalls, exportCalls } from './calls/export-calls.ts';
import { eventsPath, type JsonCalls, jsonCalls } from './calls/json-calls.ts';
import { type LogCalls, logCalls } from './calls/log-calls.ts';
import { type RecordingCalls, recordingCalls } from './calls/recording-calls.ts';
import { type WebhookCalls, webhookCalls } from './calls/webhook-calls.ts';
import type { EventCatalogue } from './event/catalogue.ts';
import type { AnyAction, AnyResourceType } from './event/words.ts';
import { serviceUrl } from './http/address.ts';
import { createTransport, type Retry, type SentHeaders } from './http/transport.ts';

export interface ClientOptions<A extends string = AnyAction, R extends string = AnyResourceType> {
  /**
   * Address of the service, such as `https://audit.example.com`; default: the variable
   * `INDELIBLE_URL`, else `http://127.0.0.1:3000`.
   */
  url?: string;
  /**
   * API key or JWT; default: the variable `INDELIBLE_API_KEY`; null: none. Plain http only to this
   * machine, unless `insecure`. A browser needs none: it sends its session cookie to its own
   * origin.
   */
  key?: string | null;
  /** The tenant of reads, and of events that name none: its UUID, or your own id. */
  tenantId?: string;
  /** Why an operator reads a tenant's data; the tenant sees it. */
  reason?: string;
  /** The operator, if the credential is a platform key. */
  operatorEmail?: string;
  /** The allowed words of events; without it, all words that the service accepts. */
  catalogue?: EventCatalogue<A, R>;
  /** Additional key names whose values are masked before sending; the service's own always are. */
  maskedKeys?: readonly string[];
  /** Allows plain http to another machine: the key and the events travel unencrypted. */
  insecure?: boolean;
  /** Time limit of one attempt; default 30 s. */
  timeoutMs?: number;
  /** The most attempts of a call that is safe to retry; default 4. */
  attempts?: number;
  /** Default: the platform's. */
  fetch?: typeof globalThis.fetch;
  /** Called before each pause between two attempts. */
  onRetry?: (retry: Retry) => void;
  /** Ends every call of this client, which then throws the signal's reason. */
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
  page(query?: PageQuery): Promise<Api.EventPage>;
  stats(query: StatsQuery): Promise<Api.Stats>;
  tenants: {
    get(id: string): Promise<Api.Tenant>;
    list(): AsyncGenerator<Api.Tenant, void, undefined>;
    /**
     * Creates or changes a tenant; omitted settings keep their value. With `restoreUrl` never
     * repeated automatically: only the first answer shows a new secret.
     */
    put(id: string, settings: Partial<Api.TenantSettings>): Promise<Api.WrittenTenant>;
    /** Closes the log of a tenant that only a failed import has filled; needs a `reason`. */
    abandon(id: string): Promise<Api.Tenant>;
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
  /** Webhooks that receive the tenant's events. */
  webhooks: WebhookCalls;
  /** Rules that raise alerts in the tenant's log. */
  alerts: AlertCalls;
  /** Resolves if the service can record and read. */
  ready(): Promise<void>;
}

/**
 * A client of one service with one credential. It holds no connection and needs no closing. Throws
 * TypeError for an invalid address, or one to which the key must not be sent, and RangeError for a
 * time limit that is not more than 0. Without a key, each call throws TypeError.
 */
export function createClient<A extends string = AnyAction, R extends string = AnyResourceType>(
  options: ClientOptions<A, R> = {},
): IndelibleClient<A, R> {
  const { url = variable('INDELIBLE_URL') ?? 'http://127.0.0.1:3000', insecure = false } = options;
  const { key = keyOfEnvironment(), timeoutMs = 30_000 } = options;
  requireSendable(key);
  // Otherwise each call would fail, those of a recorder unseen by a caller.
  if (!(timeoutMs > 0)) throw new RangeError(`timeoutMs is ${timeoutMs}: it must be more than 0`);
  const transport = {
    baseUrl: serviceUrl(url, { key: key !== null, insecure }),
    get key() {
      return key === undefined ? requireKey() : key;
    },
    timeoutMs,
    attempts: options.attempts ?? 4,
    fetch: options.fetch ?? globalThis.fetch,
    onRetry: options.onRetry ?? (() => {}),
    signal: options.signal ?? null,
  };
  const send = createTransport(transport);
  const declared = declaredHeaders(options);
  const { tenantId } = options;
  const headers = { 'x-tenant-id': tenantId && encodeURIComponent(tenantId), ...declared };
  const [plain, administering] = [jsonCalls(send), jsonCalls(send, declared)];
  const calls = jsonCalls(send, headers);
  return {
    ...recordingCalls(send, options),
    ...readingCalls(calls),
    tenants: tenantCalls(administering),
    apiKeys: keyCalls(administering),
    viewerLinks: { create: (input) => plain.post('/api/viewer-links', input) },
    log: logCalls(send, headers),
    ...evidenceCalls(calls),
    exports: exportCalls(calls, createDownload(transport), headers),
    webhooks: webhookCalls(calls),
    alerts: alertCalls(calls),
    ready: async () => void (await plain.get('/readyz')),
  };
}

/** Undefined in a browser, and for an empty variable. */
function variable(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined;
}

/** Null in a browser, whose cookie may stand for a key; undefined if there is none. */
function keyOfEnvironment(): string | null | undefined {
  const isBrowser = Boolean((globalThis as { location?: unknown }).location);
  return variable('INDELIBLE_API_KEY') ?? (isBrowser ? null : undefined);
}

// Thrown by calls: a build or a test that imports a module with a client may have no key.
function requireKey(): string | null {
  const key = keyOfEnvironment();
  if (key === undefined) {
    throw new TypeError('no API key: set INDELIBLE_API_KEY, or pass key (null for none)');
  }
  requireSendable(key);
  return key;
}

// Checked here, because the platform's error would quote the key.
function requireSendable(key: string | null | undefined): void {
  if (key == null || /^[\x21-\x7e]+$/.test(key)) return;
  throw new TypeError('the API key is empty or contains a line break');
}

function readingCalls({ get, every }: JsonCalls) {
  return {
    get: (id: string) => get<Api.AuditEvent>(`${eventsPath}/${encodeURIComponent(id)}`),
    list: (query: ListQuery = {}) => every<Api.AuditEvent>(eventsPath, queryParams(query)),
    page: async (query?: PageQuery) => get<Api.EventPage>(eventsPath, queryParams(query)),
    stats: async (query: StatsQuery) => get<Api.Stats>(`${eventsPath}/stats`, queryParams(query)),
  };
}

function declaredHeaders({ reason, operatorEmail }: ClientOptions): SentHeaders {
  return {
    'x-access-reason': reason && encodeURIComponent(reason),
    'x-operator-email': operatorEmail,
  };
}

const tenantPath = (id: string) => `/api/tenants/${encodeURIComponent(id)}`;

function tenantCalls({ get, every, post, put }: JsonCalls): IndelibleClient['tenants'] {
  return {
    get: (id) => get(tenantPath(id)),
    list: () => every('/api/tenants'),
    abandon: (id) => post(`${tenantPath(id)}/abandon`),
    put: (id, settings) =>
      settings.restoreUrl == null
        ? put('PUT', tenantPath(id), settings)
        : // A lost first answer may have held the new secret; a repeated call would not show it.
          post(tenantPath(id), settings, { method: 'PUT' }),
  };
}

function keyCalls({ every, post, remove }: JsonCalls): IndelibleClient['apiKeys'] {
  const pathOf = (tenantId: string | null) =>
    tenantId === null ? '/api/api-keys' : `${tenantPath(tenantId)}/api-keys`;
  return {
    create: (tenantId, input) => post(pathOf(tenantId), input),
    list: (tenantId) => every(pathOf(tenantId)),
    revoke: (tenantId, keyId) => remove(`${pathOf(tenantId)}/${encodeURIComponent(keyId)}`),
  };
}
