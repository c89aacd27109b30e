import { plainIp } from '@indelible/protocol';
import { auditOf, originOf } from './audit-of.ts';
import type { AuditOptions, RequestAudit } from './request-audit.ts';

export * from './request-audit.ts';

declare global {
  namespace Express {
    interface Request {
      /** Records events of this request; see `expressAudit`. */
      audit: RequestAudit;
    }
  }
}

/** The used part of an Express request; other servers of Node requests have it too, except `ip`. */
export interface ExpressRequestLike {
  /** By Express's setting `trust proxy`. */
  ip?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  socket?: { remoteAddress?: string | undefined };
}

/**
 * Adds `request.audit` to every request. Use it before handlers that record. It reads the actor
 * when an event is made.
 */
export function expressAudit<Request extends ExpressRequestLike>(options: AuditOptions<Request>) {
  return (request: Request, _response: unknown, next: () => void): void => {
    attachAudit(options, request);
    next();
  };
}

/** Adds the audit to the request, unless it has one, and returns it. */
export function attachAudit<Request extends ExpressRequestLike>(
  options: AuditOptions<Request>,
  request: Request & { audit?: RequestAudit },
): RequestAudit {
  const { ip, headers, socket } = request;
  const headerOf = (name: string) => headers[name]?.toString();
  const address = plainIp(ip ?? socket?.remoteAddress);
  request.audit ??= auditOf(options, request, originOf(headerOf, address));
  return request.audit;
}
