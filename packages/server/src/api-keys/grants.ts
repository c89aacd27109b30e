import type { Scope } from '@indelible/protocol';
import { isReadingAdmin, type Principal, requireActsFor } from '../access/principal.ts';
import { AppError } from '../http/problem.ts';

/** Scopes that only the platform may grant: a tenant's key must not make keys of its own kind. */
const platformGranted: readonly Scope[] = ['tenants:write', 'viewer-links:write'];

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
  const { scopes, tenantId } = principal;
  if (isReadingAdmin(principal) && owner !== null && tenantId === owner) return;
  if (!scopes.has('tenants:write')) {
    throw new AppError('forbidden', 'this needs a credential with the scope tenants:write');
  }
  requireActsFor(principal, owner);
}
