import type { Scope } from '@indelible/protocol';
import type { Principal } from '../access/principal.ts';
import { AppError } from '../http/problem.ts';

/** Scopes that only the platform may grant: a tenant's key must not make keys of its own kind. */
const platformGranted: readonly Scope[] = ['tenants:write', 'viewer-links:write'];

/**
 * Throws `forbidden` unless the caller may manage the keys of this owner: a tenant, or null for the
 * platform. A tenant-bound credential manages only its own tenant's keys.
 */
export function requireManagesKeys(principal: Principal, owner: string | null): void {
  if (principal.tenantId === null || principal.tenantId === owner) return;
  const detail = 'this credential is bound to another tenant';
  throw new AppError(
    'forbidden',
    owner === null ? 'this needs a platform-bound credential' : detail,
  );
}

/** Throws `forbidden` for a scope that the caller does not hold or may not grant. */
export function requireMayGrant(principal: Principal, wanted: readonly Scope[]): void {
  const own = wanted.filter((scope) => principal.scopes.has(scope));
  const granted = own.filter((s) => principal.tenantId === null || !platformGranted.includes(s));
  const refused = wanted.filter((scope) => !granted.includes(scope));
  if (refused.length === 0) return;
  throw new AppError('forbidden', `this credential cannot grant ${refused.join(', ')}`);
}

/**
 * Throws `forbidden` unless the caller may see the keys of this owner. A caller that manages them
 * may; an admin may see those of the own tenant.
 */
export function requireSeesKeys(principal: Principal, owner: string | null): void {
  const { role, scopes, tenantId } = principal;
  if (role === 'admin' && owner !== null && tenantId === owner && scopes.has('events:read')) return;
  if (!scopes.has('tenants:write')) {
    throw new AppError('forbidden', 'this needs a credential with the scope tenants:write');
  }
  requireManagesKeys(principal, owner);
}
