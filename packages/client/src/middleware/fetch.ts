import { auditOf, originOf } from './audit-of.ts';
import { addressFinder, type HeaderOf, type ProxyOptions } from './client-address.ts';
import type { AuditOptions, Origin, RequestAudit } from './request-audit.ts';

export type { ProxyOptions } from './client-address.ts';
export * from './request-audit.ts';

/** Any request of the Fetch standard, or only its headers: `{ headers: await headers() }`. */
export interface FetchRequestLike {
  headers: { get(name: string): string | null };
}

/** `actorOf` may be absent if `audit.actor(…)` names the actor. */
export interface FetchAuditOptions<Request>
  extends Omit<AuditOptions<Request>, 'actorOf'>,
    Partial<Pick<AuditOptions<Request>, 'actorOf'>>,
    ProxyOptions {}

/**
 * For servers with requests of the Fetch standard (Next.js, Bun, Deno, edge runtimes): returns a
 * function that makes the audit of a request. `peer` is the address of the connection's other end,
 * if the server shows it. Throws TypeError for invalid `trustedProxies`.
 */
export function fetchAudit<Request extends FetchRequestLike>(
  options: FetchAuditOptions<Request>,
): (request: Request, peer?: string | null) => RequestAudit {
  const { actorOf = () => null } = options;
  const findOrigin = originFinder(options);
  return (request, peer = null) =>
    auditOf(
      { ...options, actorOf },
      request,
      findOrigin((name) => request.headers.get(name), peer),
    );
}

export function originFinder(
  options: ProxyOptions,
): (header: HeaderOf, peer: string | null | undefined) => Origin {
  const addressOf = addressFinder(options);
  return (header, peer) => originOf(header, addressOf(header, peer));
}
