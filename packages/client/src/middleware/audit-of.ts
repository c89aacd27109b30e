import { mcpOf } from './agents.ts';
import type { HeaderOf } from './client-address.ts';
import { type AuditOptions, type Origin, RequestAudit } from './request-audit.ts';

/** The audit of `request`; calls `options` whenever an event is made. */
export function auditOf<Request>(
  { sink, ...options }: AuditOptions<Request>,
  request: Request,
  origin: Origin,
): RequestAudit {
  const source = {
    sink,
    actor: () => options.actorOf(request),
    tenantId: () => options.tenantOf?.(request),
    claims: () => options.claimsOf?.(request),
  };
  return new RequestAudit(source, origin);
}

/** `ownId`: a request id of the framework. */
export function originOf(header: HeaderOf, ip: string | null, ownId?: string | null): Origin {
  return {
    ip,
    userAgent: header('user-agent') ?? null,
    requestId: requestIdOf(ownId, header('x-request-id')),
    via: mcpOf(header),
  };
}

/** The first of these that the service accepts as a request id; else a new UUID. */
function requestIdOf(...given: (string | readonly string[] | null | undefined)[]): string {
  const fits = given.find((id) => typeof id === 'string' && /^[\w-]{8,64}$/.test(id));
  return typeof fits === 'string' ? fits : crypto.randomUUID();
}
