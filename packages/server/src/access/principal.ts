/** What a credential may do; none implies another. */
export const scopes = [
  'events:write',
  'events:read',
  'exports:write',
  'restore:write',
  'webhooks:write',
  'tenants:write',
  'viewer-links:write',
] as const;
export type Scope = (typeof scopes)[number];

/**
 * The key that made another key, or opened a session by a link; `id` as events name it. That of
 * the platform is bound to no tenant: its holder is an operator.
 */
export type Maker = { kind: 'platform' | 'tenant'; id: string };

/** Who is calling, as proven by the credential. */
export interface Principal {
  kind: 'api_key' | 'jwt' | 'session';
  /** UUID of the key, the token's `sub`, or that of who signed in to the panel. */
  id: string;
  email: string | null;
  role: 'api_key' | 'admin' | 'superadmin';
  /** The only tenant it may act for; null for a platform-bound key and for a superadmin's token. */
  tenantId: string | null;
  scopes: ReadonlySet<Scope>;
  /** The stored key whose revocation the flush checks again; null for bootstrap keys and JWTs. */
  recheckKeyId: string | null;
  /** Of a stored key or a session by link; null where it is not known, and for all others. */
  maker: Maker | null;
  /** The panel's session; null for bearer credentials. */
  session: PanelSession | null;
}

/** What a session knows beyond who it is: an operator's is bound to one tenant and one reason. */
export interface PanelSession {
  id: string;
  /** Declared when signing in; null for an admin, who needs none. */
  reason: string | null;
  signedInBy: 'viewer_link' | 'jwt';
  idleExpiresAtMs: number;
  expiresAtMs: number;
}

export function makerOf({ tenantId, id }: Principal): Maker {
  return { kind: tenantId === null ? 'platform' : 'tenant', id };
}
