import { type Agent, externalUuid, type Scope } from '@indelible/protocol';
import { named, uuid } from '../http/field-schemas.ts';
import { AppError } from '../http/problem.ts';
import { Type } from '../http/type.ts';

/**
 * The key that made another key, or the link of a session; `id` as in events. A platform key is not
 * bound to a tenant: its holder is an operator.
 */
export type Maker = { kind: 'platform' | 'tenant'; id: string };

/** The stored key. Only `revokedAtMs` ever changes. */
export interface StoredApiKey {
  id: string;
  tenantId: string | null;
  scopes: readonly Scope[];
  /** SHA-256 of the whole key. */
  keyHash: Uint8Array;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  madeBy: Maker | null;
  /** Addresses and networks that it may be used from; null: all. */
  allowedIps: readonly string[] | null;
}

export interface Principal {
  kind: 'api_key' | 'jwt' | 'session';
  /** UUID of the key, of the token's `sub`, or of the signed-in person. */
  id: string;
  /** The host's own id of the person, from which `id` derives; null: it is the UUID itself. */
  externalId: string | null;
  email: string | null;
  role: 'api_key' | 'admin' | 'superadmin';
  /** The only tenant it may use; null for a platform-bound key and for a superadmin's token. */
  tenantId: string | null;
  scopes: ReadonlySet<Scope>;
  /** The stored key that the flush checks again; null for platform keys and JWTs. */
  recheckKeyId: string | null;
  /** Who made the stored key, or the link of the session; null if unknown, and for others. */
  maker: Maker | null;
  /** The agents that act with the person's token, or signed in with it; nearest first. */
  agents: readonly Agent[];
  /** The panel's session; null for bearer credentials. */
  session: PanelSession | null;
}

/** An operator's session is bound to one tenant and one reason. */
interface PanelSession {
  id: string;
  /** Declared at sign-in; null for an admin. */
  reason: string | null;
  signedInBy: 'viewer_link' | 'jwt';
  idleExpiresAtMs: number;
  expiresAtMs: number;
}

/**
 * Throws `forbidden` for a credential that may not act for this tenant; null: for the platform. A
 * tenant-bound credential acts for its own tenant only.
 */
export function requireActsFor({ tenantId }: Principal, owner: string | null): void {
  if (tenantId === null || tenantId === owner) return;
  const sentence =
    owner === null
      ? 'this needs a platform-bound credential'
      : 'this credential is bound to another tenant';
  throw new AppError('forbidden', sentence);
}

/** The caller's UUID in a tenant's log: of an operator's own id, each tenant has another one. */
export function idIn(tenantId: string, { id, externalId }: Pick<Principal, 'id' | 'externalId'>) {
  return externalId === null ? id : externalUuid(tenantId, 'actor', externalId);
}

/** Throws `forbidden` unless the caller may read the events. */
export function requireReads({ principal }: { principal: Principal }): void {
  if (principal.scopes.has('events:read')) return;
  throw new AppError('forbidden', 'this needs the scope events:read too');
}

/** Whether the caller is an admin of its tenant who may read: a link can open less. */
export const isReadingAdmin = ({ role, scopes }: Pick<Principal, 'role' | 'scopes'>): boolean =>
  role === 'admin' && scopes.has('events:read');

export function makerOf({ tenantId, id }: Principal): Maker {
  return { kind: tenantId === null ? 'platform' : 'tenant', id };
}

/** The key that made a key or session, as answers show it. */
export const makerSchema = (description: string) =>
  Type.Union(
    [
      named('Maker', {
        kind: Type.Enum(['platform', 'tenant']),
        id: uuid('Of the key, as events name it.'),
      }),
      Type.Null(),
    ],
    { description },
  );
