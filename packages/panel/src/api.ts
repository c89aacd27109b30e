/** Every request of the panel to the service, on its own origin with the session's cookie. */

import {
  type ExportJob as ClientExportJob,
  createClient,
  createTransport,
  type ExportInput,
  IndelibleError,
  type Params,
  type SavedSearch,
  type Scope,
  type WebhookDelivery,
} from '@indelible/client';
import { hearTime } from './service-clock.ts';

export interface Session {
  actor: { id: string; email: string | null; role: string };
  tenant: {
    id: string;
    /** The host product's own id; null: it names the tenant by the UUID. */
    externalId: string | null;
    name: string;
    plan: string;
    locale: string;
    timeZone: string;
    /** Whether the tenant's host can put previous values back. */
    restoreUrl: boolean;
    /** When the tenant was offboarded or abandoned: nothing more is recorded. */
    closedAt?: string;
  };
  crossTenant: boolean;
  /** The reason an operator declared. */
  reason: string | null;
  scopes: Scope[];
  /** The scope of the page with that name; null: the catalogue names no resource types for it. */
  sensitiveAccess: { resourceTypes: string[]; actions: string[] } | null;
  expiresAt: string;
  idleExpiresAt: string;
  /** The page that the link opens; only in the answer that opens the session. */
  path: string | null;
}

export type SignIn = { token: string } | { jwt: string; tenantId?: string; reason?: string };

/** With what only the panel shows. */
export interface ExportJob extends Omit<ClientExportJob, 'rowsDone'> {
  /** `stream`: sent with the answer, not stored. */
  mode: 'stream' | 'job';
  rowsDone: number | null;
  columns: ExportInput['columns'] | null;
  requestedBy: { id: string; email: string | null };
}

/** Part of a list, newest first. */
export interface Page<Item> {
  data: Item[];
  pagination: { nextCursor: string | null };
}

const fetchHere: typeof fetch = async (input, init) => {
  const answer = await fetch(input, { ...init, credentials: 'same-origin' });
  hearTime(answer);
  return answer;
};
const attempts = 3;

/** The calls that host products also use. */
export const client = createClient({ url: location.origin, fetch: fetchHere, attempts });

// Calls that only the panel needs: sessions, single pages, files in the browser.
const send = createTransport({
  baseUrl: location.origin,
  key: null,
  timeoutMs: 30_000,
  attempts,
  fetch: fetchHere,
  onRetry: () => {},
  signal: null,
});

const read = async <T>(path: string, params: Params = []) =>
  (await send({ method: 'GET', path, params, idempotent: true })) as T;
const page = <Item>(path: string, cursor: string | null) =>
  read<Page<Item>>(path, cursor === null ? [] : [['cursor', cursor]]);

const events = '/api/audit-logs';

export const api = {
  /** Settings that the panel needs before sign-in. */
  config: () => read<{ frameAncestors: string[]; signInUrl: string | null }>('/api/panel-config'),
  session: {
    get: () => read<Session>('/api/session'),
    open: async (credential: SignIn) => {
      const body = JSON.stringify(credential);
      return (await send({
        method: 'POST',
        path: '/api/session',
        body,
        idempotent: false,
      })) as Session;
    },
    close: () => send({ method: 'DELETE', path: '/api/session', idempotent: true }),
  },
  /** Searches saved as evidence. */
  searches: (cursor: string | null) => page<SavedSearch>(`${events}/searches`, cursor),
  exports: {
    list: (cursor: string | null) => page<ExportJob>(`${events}/exports`, cursor),
    /** The address of a finished file. */
    downloadPath: (id: string) => `${events}/exports/${encodeURIComponent(id)}/download`,
    now: exportNow,
  },
  webhooks: {
    deliveries: (id: string, cursor: string | null) =>
      page<WebhookDelivery>(`/api/webhooks/${encodeURIComponent(id)}/deliveries`, cursor),
  },
};

/** The file itself, or a job if it has more rows than the service sends at once. */
async function exportNow(input: ExportInput): Promise<{ file: Blob } | { job: ExportJob }> {
  const answer = await fetchHere(`${events}/exports`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  if (answer.status === 200) return { file: await answer.blob() };
  const body = await answer.json().catch(() => null);
  if (answer.status === 202) return { job: body as ExportJob };
  const { code = 'unavailable', detail = '' } = (body ?? {}) as Partial<IndelibleError> & {
    detail?: string;
  };
  throw new IndelibleError({ status: answer.status, code, detail, requestId: null });
}

/** Whether the session has ended, so that the reader must sign in again. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof IndelibleError && error.status === 401;
}
