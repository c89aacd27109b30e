import type {
  Category,
  Diff,
  ErrorCode,
  FieldProblem,
  Plan,
  WarningCode,
} from '@indelible/protocol';
import type { AnyAction, AnyResourceType } from './event/words.ts';

export type { Diff, Scalar } from '@indelible/protocol';

/* What goes over the wire, as the service's OpenAPI document describes it. */

/** A complete resource. */
export type State = Record<string, unknown>;

/**
 * An event as a producer sends it; times are ISO 8601, ids of tenants, actors, resources UUIDs. A
 * catalogue narrows its words.
 */
export interface EventInput<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** `evt_audit_…`; made by the client when it is absent, so that repeating the call is safe. */
  id?: string;
  timestamp?: string;
  /** May be absent for a credential that is bound to one tenant. */
  tenantId?: string;
  actor: {
    id: string;
    email?: string | null;
    role: string;
    ip?: string | null;
    userAgent?: string | null;
  };
  action: A;
  resource: { type: R; id: string; name?: string | null };
  diff?: Diff;
  crossTenant?: boolean;
  reason?: string | null;
  /**
   * Complete states, as JSON: of any type that a product has for them, interfaces and classes too.
   */
  before?: object | null;
  after?: object | null;
}

/** An event as it is stored; `before` and `after` are there only where a call returns states. */
export interface AuditEvent {
  id: string;
  timestamp: string;
  tenantId: string;
  actor: {
    id: string;
    email: string | null;
    role: string;
    ip: string | null;
    userAgent: string | null;
  };
  action: string;
  resource: { type: string; id: string; name: string | null };
  diff: Diff;
  crossTenant: boolean;
  reason: string | null;
  category: Category;
  hasState: boolean;
  /** Position in the tenant's log, from 0. */
  sequence: number;
  receivedAt: string;
  erased?: ('change' | 'identity' | 'state')[];
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  before?: State | null;
  after?: State | null;
}

export interface RecordedEvent extends AuditEvent {
  /** RFC 6962 hash of the log entry, hexadecimal. */
  leafHash: string;
  warnings: WarningCode[];
}

/** What became of one event of a batch; `index` counts from 0 in the order sent. */
export interface BatchResult {
  index: number;
  status: 'created' | 'duplicate' | 'rejected';
  id?: string;
  sequence?: number;
  warnings?: WarningCode[];
  error?: { code: ErrorCode; detail: string; errors?: FieldProblem[] };
}

export interface Page<T> {
  data: T[];
  pagination: { limit: number; hasMore: boolean; nextCursor: string | null };
}

/** A page of events; a cursor is null where there is nothing more. */
export interface EventPage {
  data: AuditEvent[];
  pagination: {
    limit: number;
    /** Null for a page that was reached by cursor. */
    page: number | null;
    hasMore: boolean;
    nextCursor: string | null;
    previousCursor: string | null;
    /** Where it was asked for; `gte`: at least as many. */
    total?: { value: number; relation: 'eq' | 'gte' };
  };
}

/** `data` holds one object a group: the keys asked for and `count`. */
export interface Stats {
  data: (Record<string, string | number | null> & { count: number })[];
  total: number;
}

/** What can be decided about a tenant. */
export interface TenantSettings {
  name: string;
  plan: Plan;
  locale: string;
  timeZone: string;
  notifyEmails: string[];
  restoreUrl: string | null;
  legalHold: boolean;
}

export interface Tenant extends TenantSettings {
  id: string;
  createdAt: string;
  updatedAt: string;
}

export interface WrittenTenant extends Tenant {
  /** Signs restore calls; shown only in the answer that set `restoreUrl`. */
  restoreSecret?: string;
}

export interface ApiKeyInput {
  name: string;
  scopes: string[];
  expiresAt?: string | null;
}

export interface ApiKey {
  id: string;
  name: string;
  scopes: string[];
  createdAt: string;
  expiresAt: string | null;
  /** Null for a key that is bound to the platform. */
  tenantId: string | null;
  revokedAt: string | null;
  /** Which key made it; null for one made before that was kept. */
  madeBy: Maker | null;
}

/** A key behind another key or a session: the platform's, which operators hold, or the tenant's. */
export interface Maker {
  kind: 'platform' | 'tenant';
  /** UUID, as events name the key. */
  id: string;
}

export interface NewApiKey extends Omit<ApiKey, 'revokedAt'> {
  /** The key itself, shown this once. */
  key: string;
}

export interface ViewerLinkInput {
  tenantId: string;
  /** Who will be signed in; an operator (`superadmin`) has an e-mail address. */
  actor: { id: string; email: string | null; role: 'admin' | 'superadmin' };
  /** Why an operator looks; the tenant sees it. */
  reason?: string | null;
  /** 1 to 900; 300 unless given. */
  ttlSeconds?: number;
  /** A page of the panel, below `/settings/audit`; its list of events unless given. */
  path?: string | null;
}

export interface ViewerLink {
  /** Opens the panel once; a secret until then. */
  url: string;
  expiresAt: string;
}
