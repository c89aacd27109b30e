import type {
  ActorType,
  Category,
  CountOrMore,
  Diff,
  ErrorCode,
  EventContext,
  FieldProblem,
  Identity,
  Locale,
  OnBehalfOf,
  Plan,
  Scope,
  Target,
  WarningCode,
  WarningPaths,
} from '@indelible/protocol';
import type { AnyAction, AnyResourceType } from './event/words.ts';

export type { Diff, Identity, Scalar } from '@indelible/protocol';

/* The JSON of requests and answers, as the service's OpenAPI document describes it. */

export type State = Record<string, unknown>;

/** Values of an absent member: the service takes null, and JSON drops undefined. */
type Absent = null | undefined;

/** `T` with optional members that may also be null or undefined. */
type Sent<T> = {
  [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | Absent : T[K];
};

type SentContext = Omit<EventContext, 'actor' | 'resource' | 'onBehalfOf' | 'targets' | 'via'>;

/**
 * An event to record. Times are ISO 8601; a tenant is named by UUID or own id. A catalogue limits
 * its words.
 */
export interface EventInput<A extends string = AnyAction, R extends string = AnyResourceType>
  extends Sent<SentContext> {
  /** `evt_audit_…`. If absent, the client makes one, so that retries are safe. */
  id?: string | undefined;
  timestamp?: string | Date | undefined;
  /** May be absent if the credential is bound to one tenant. */
  tenantId?: string | undefined;
  actor: Identity & {
    email?: string | Absent;
    role: string;
    ip?: string | Absent;
    userAgent?: string | Absent;
    type?: ActorType | Absent;
    name?: string | Absent;
  };
  action: A;
  resource: Identity & { type: R; name?: string | Absent };
  diff?: Diff | undefined;
  crossTenant?: boolean | undefined;
  reason?: string | Absent;
  /** Complete states, as JSON. Interfaces and classes of the product are accepted. */
  before?: object | Absent;
  after?: object | Absent;
  /** For whom the actor acts, nearest first; at most 4. */
  onBehalfOf?: readonly Sent<OnBehalfOf>[] | Absent;
  /** How it was done, such as over `mcp` with this tool. */
  via?: Sent<NonNullable<EventContext['via']>> | Absent;
  /** Further resources; at most 10. */
  targets?: readonly Sent<Target>[] | Absent;
}

/** A stored event. `before` and `after` are present only if the call returns states. */
export interface AuditEvent extends Omit<EventContext, 'actor' | 'resource'> {
  id: string;
  timestamp: string;
  tenantId: string;
  actor: {
    id: string;
    email: string | null;
    role: string;
    ip: string | null;
    userAgent: string | null;
  } & EventContext['actor'];
  action: string;
  resource: { type: string; id: string; name: string | null } & EventContext['resource'];
  diff: Diff;
  crossTenant: boolean;
  reason: string | null;
  category: Category;
  hasState: boolean;
  /** Number in the tenant's log, from 0. */
  sequence: number;
  receivedAt: string;
  erased?: ('change' | 'context' | 'identity' | 'state')[];
  recordedBy: { kind: 'api_key' | 'service'; id: string };
  before?: State | null;
  after?: State | null;
}

export interface RecordedEvent extends AuditEvent {
  /** RFC 6962 hash of the log entry, hexadecimal. */
  leafHash: string;
  warnings: WarningCode[];
  /** By the code of each warning: JSON Pointers to what it is about. */
  warningPaths: WarningPaths;
}

/** The outcome of one event of a batch; `index` is its position in the batch, from 0. */
export interface BatchResult {
  index: number;
  status: 'created' | 'duplicate' | 'rejected';
  id?: string;
  sequence?: number;
  warnings?: WarningCode[];
  warningPaths?: WarningPaths;
  error?: { code: ErrorCode; detail: string; errors?: FieldProblem[] };
}

export interface Page<T> {
  data: T[];
  pagination: { limit: number; hasMore: boolean; nextCursor: string | null };
}

/** A page of events; a cursor is null if there are no more. */
export interface EventPage extends Page<AuditEvent> {
  pagination: Page<AuditEvent>['pagination'] & {
    /** Null for a page that was reached by cursor. */
    page: number | null;
    previousCursor: string | null;
    /** If requested. */
    total?: CountOrMore;
  };
}

/** `data` has one object for each group: its keys and `count`. */
export interface Stats {
  data: (Record<string, string | number | null> & { count: number })[];
  total: number;
}

/** The settings of a tenant. */
export interface TenantSettings {
  name: string;
  plan: Plan;
  locale: Locale;
  timeZone: string;
  notifyEmails: string[];
  /** How often `notifyEmails` get a digest. */
  digest: 'none' | 'weekly' | 'monthly';
  restoreUrl: string | null;
  legalHold: boolean;
}

export interface Tenant extends TenantSettings {
  id: string;
  /** Your own id; null: you name the tenant by the UUID. */
  externalId: string | null;
  createdAt: string;
  updatedAt: string;
  /** Only of a tenant that was offboarded or abandoned: since when it takes no more events. */
  closedAt?: string;
}

export interface WrittenTenant extends Tenant {
  /** Signs restore calls; only the answer that set `restoreUrl` has it. */
  restoreSecret?: string;
}

export interface ApiKeyInput {
  name: string;
  scopes: readonly Scope[];
  expiresAt?: string | null;
  /** Addresses and networks that the key may be used from; all unless given. */
  allowedIps?: string[] | null;
}

export interface ApiKey {
  /** UUID, also `recordedBy.id` of what the key records. */
  id: string;
  name: string;
  scopes: Scope[];
  createdAt: string;
  expiresAt: string | null;
  /** Null for a platform-bound key. */
  tenantId: string | null;
  revokedAt: string | null;
  /** The key that made it; null if the service did not store that yet. */
  madeBy: Maker | null;
  allowedIps: string[] | null;
  /** Exact to ten minutes; null: never used. */
  lastUsedAt: string | null;
}

/** The key that made another key or a session: the platform's or the tenant's. */
export interface Maker {
  kind: 'platform' | 'tenant';
  /** UUID, as events name the key. */
  id: string;
}

export interface NewApiKey extends Omit<ApiKey, 'revokedAt'> {
  /** The key itself; only this answer has it. */
  key: string;
}

export interface ViewerLinkInput {
  tenantId: string;
  /** The person to sign in; an operator (`superadmin`) needs an e-mail address. */
  actor: { id: string; email: string | null; role: 'admin' | 'superadmin' };
  /** Why an operator reads; the tenant sees it. */
  reason?: string | null;
  /** 1 to 900; default 300. */
  ttlSeconds?: number;
  /** A page of the panel, below `/settings/audit`; default: the list of events. */
  path?: string | null;
}

export interface ViewerLink {
  /** Opens the panel once; secret until it is used. */
  url: string;
  expiresAt: string;
}
