import { plainIp } from './ip-address.ts';
import { type AuditOptions, auditOf, type RequestAudit, requestIdOf } from './request-audit.ts';

export {
  type ActingAs,
  type Actor,
  type AuditInput,
  NotRecordedError,
  RequestAudit,
} from './request-audit.ts';

declare global {
  namespace Express {
    interface Request {
      /** Records events of this request; see `expressAudit`. */
      audit: RequestAudit;
    }
  }
}

/**
 * What is read of an Express request; other servers of Node's requests have it too, but for `ip`.
 */
export interface ExpressRequestLike {
  /** By Express's own setting `trust proxy`. */
  ip?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  socket?: { remoteAddress?: string | undefined };
}

/**
 * Middleware that gives every request `request.audit`. Use it before what may want to record; the
 * actor is looked for only when an event is made.
 */
export function expressAudit<Request extends ExpressRequestLike>(options: AuditOptions<Request>) {
  return (request: Request, _response: unknown, next: () => void): void => {
    attachAudit(options, request);
    next();
  };
}

/** Gives the request its audit, unless it has one, and returns it. */
export function attachAudit<Request extends ExpressRequestLike>(
  options: AuditOptions<Request>,
  request: Request & { audit?: RequestAudit },
): RequestAudit {
  const { ip, headers, socket } = request;
  request.audit ??= auditOf(options, request, {
    ip: plainIp(ip ?? socket?.remoteAddress),
    userAgent: headers['user-agent']?.toString() ?? null,
    requestId: requestIdOf(headers['x-request-id']),
  });
  return request.audit;
}
