import { eventIdFromUuid, eventUuid, parseTimestamp } from '@indelible/protocol';
import { serviceUrl } from './address.ts';
import type * as Api from './api-types.ts';
import { type ListQuery, listParams, type StatsQuery, statsParams } from './event-query.ts';
import { createTransport, type Retry, type Transport } from './transport.ts';

export interface ClientOptions {
  /** Where the service is, such as `https://audit.example.com`. */
  url: string;
  /** API key or JWT; sent over plain http to this machine only, unless `insecure`. */
  key?: string;
  /** Whose events are read, and which tenant an event without one is of. */
  tenantId?: string;
  /** Why an operator looks at a tenant's data; the tenant sees it. */
  reason?: string;
  /** Who looks, when the credential is a platform key. */
  operatorEmail?: string;
  insecure?: boolean;
  /** Whole time of one attempt; 30 s. */
  timeoutMs?: number;
  /** How often a call that is safe to repeat is made before it fails; 4. */
  attempts?: number;
  fetch?: typeof globalThis.fetch;
  onRetry?: (retry: Retry) => void;
  signal?: AbortSignal;
}

/** Every method throws IndelibleError for a refusal and UnreachableError without an answer. */
export interface IndelibleClient {
  /** Records one event; safe to repeat, because it gets an id here when it has none. */
  record(event: Api.EventInput): Promise<Api.RecordedEvent>;
  /** Records 1 to 1,000 events; results in the order sent, one bad event never blocks the others. */
  recordBatch(events: readonly Api.EventInput[]): Promise<Api.BatchResult[]>;
  /** `recordBatch` for events that are JSON already, each with an id of its own. */
  recordBatchTexts(events: readonly string[]): Promise<Api.BatchResult[]>;
  get(id: string): Promise<Api.AuditEvent>;
  /** Every event that matches, page after page as they are needed. */
  list(query?: ListQuery): AsyncGenerator<Api.AuditEvent, void, undefined>;
  stats(query: StatsQuery): Promise<Api.Stats>;
  tenants: {
    get(id: string): Promise<Api.Tenant>;
    list(): AsyncGenerator<Api.Tenant, void, undefined>;
    /** Creates or changes; omitted settings keep their value. */
    put(id: string, settings: Partial<Api.TenantSettings>): Promise<Api.WrittenTenant>;
  };
  /** Keys of a tenant, or of the platform (`null`). */
  apiKeys: {
    /** Never repeated on its own: the answer is the only place that shows the key. */
    create(tenantId: string | null, input: Api.ApiKeyInput): Promise<Api.NewApiKey>;
    list(tenantId: string | null): AsyncGenerator<Api.ApiKey, void, undefined>;
    revoke(tenantId: string | null, keyId: string): Promise<void>;
  };
  /** Returns when the service can record and read. */
  ready(): Promise<void>;
}

/** Throws TypeError for an address that is no service's, or that the key must not be sent to. */
export function createClient(options: ClientOptions): IndelibleClient {
  const send = createTransport({
    baseUrl: serviceUrl(options.url, {
      key: options.key !== undefined,
      insecure: options.insecure ?? false,
    }),
    key: options.key ?? null,
    timeoutMs: options.timeoutMs ?? 30_000,
    attempts: options.attempts ?? 4,
    fetch: options.fetch ?? globalThis.fetch,
    onRetry: options.onRetry ?? (() => {}),
    signal: options.signal ?? null,
  });
  return {
    ...eventCalls(send, options),
    tenants: tenantCalls(send, options),
    apiKeys: keyCalls(send),
    ready: async () => {
      await send({ method: 'GET', path: '/readyz', idempotent: true });
    },
  };
}

type EventCalls = Omit<IndelibleClient, 'tenants' | 'apiKeys' | 'ready'>;

function eventCalls(send: Transport, options: ClientOptions): EventCalls {
  const path = '/api/audit-logs';
  const headers = operatorHeaders(options);
  const recordBatchTexts = async (texts: readonly string[]) => {
    const body = `{"events":[${texts.join(',')}]}`;
    const answer = await send({ method: 'POST', path: `${path}/batch`, body, idempotent: true });
    return (answer as { results: Api.BatchResult[] }).results;
  };
  const textOf = (event: Api.EventInput) => JSON.stringify(identified(event, options.tenantId));
  return {
    record: async (event) =>
      (await send({
        method: 'POST',
        path,
        body: textOf(event),
        idempotent: true,
      })) as Api.RecordedEvent,
    recordBatch: (events) => recordBatchTexts(events.map(textOf)),
    recordBatchTexts,
    get: async (id) =>
      (await send({
        method: 'GET',
        path: `${path}/${encodeURIComponent(id)}`,
        headers,
        idempotent: true,
      })) as Api.AuditEvent,
    list: (query = {}) =>
      everyItem<Api.AuditEvent>(send, path, { params: listParams(query), headers }),
    stats: async (query) =>
      (await send({
        method: 'GET',
        path: `${path}/stats`,
        params: statsParams(query),
        headers,
        idempotent: true,
      })) as Api.Stats,
  };
}

/**
 * The event with an id, so that sending it twice records it once. One whose timestamp nobody can
 * read stays as it is: the service refuses it every time.
 */
function identified(event: Api.EventInput, tenantId: string | undefined): Api.EventInput {
  const owned = tenantId === undefined ? event : { tenantId, ...event };
  if (event.id !== undefined) return owned;
  const timeMs = event.timestamp === undefined ? Date.now() : parseTimestamp(event.timestamp);
  if (timeMs === null) return owned;
  const random = crypto.getRandomValues(new Uint8Array(10));
  return { id: eventIdFromUuid(eventUuid(timeMs, random)), ...owned };
}

function operatorHeaders({ tenantId, reason, operatorEmail }: ClientOptions) {
  const headers: Record<string, string> = {};
  if (tenantId !== undefined) headers['x-tenant-id'] = tenantId;
  if (reason !== undefined) headers['x-access-reason'] = encodeURIComponent(reason);
  if (operatorEmail !== undefined) headers['x-operator-email'] = operatorEmail;
  return headers;
}

function tenantCalls(send: Transport, { reason }: ClientOptions): IndelibleClient['tenants'] {
  const pathOf = (id: string) => `/api/tenants/${encodeURIComponent(id)}`;
  const headers = operatorHeaders({ url: '', ...(reason === undefined ? {} : { reason }) });
  return {
    get: async (id) =>
      (await send({ method: 'GET', path: pathOf(id), idempotent: true })) as Api.Tenant,
    list: () => everyItem<Api.Tenant>(send, '/api/tenants', {}),
    put: async (id, settings) => {
      const body = JSON.stringify(settings);
      const call = { method: 'PUT', path: pathOf(id), body, headers, idempotent: true } as const;
      return (await send(call)) as Api.WrittenTenant;
    },
  };
}

function keyCalls(send: Transport): IndelibleClient['apiKeys'] {
  const pathOf = (tenantId: string | null) =>
    tenantId === null ? '/api/api-keys' : `/api/tenants/${encodeURIComponent(tenantId)}/api-keys`;
  return {
    create: async (tenantId, input) => {
      const body = JSON.stringify(input);
      const call = { method: 'POST', path: pathOf(tenantId), body, idempotent: false } as const;
      return (await send(call)) as Api.NewApiKey;
    },
    list: (tenantId) => everyItem<Api.ApiKey>(send, pathOf(tenantId), {}),
    revoke: async (tenantId, keyId) => {
      const path = `${pathOf(tenantId)}/${encodeURIComponent(keyId)}`;
      await send({ method: 'DELETE', path, idempotent: true });
    },
  };
}

/** Follows `nextCursor` to the end. */
async function* everyItem<T>(
  send: Transport,
  path: string,
  first: { params?: (readonly [string, string])[]; headers?: Record<string, string> },
): AsyncGenerator<T, void, undefined> {
  const { params = [], headers = {} } = first;
  for (let cursor: string | null = null; ; ) {
    const at: (readonly [string, string])[] = cursor === null ? params : withCursor(params, cursor);
    const page = (await send({
      method: 'GET',
      path,
      params: at,
      headers,
      idempotent: true,
    })) as Api.Page<T>;
    yield* page.data;
    cursor = page.pagination.nextCursor;
    if (cursor === null) return;
  }
}

// A cursor goes with the very parameters its page was asked for with.
function withCursor(params: readonly (readonly [string, string])[], cursor: string) {
  return [...params.filter(([name]) => name !== 'cursor'), ['cursor', cursor] as const];
}
