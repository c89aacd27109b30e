import { plainIp } from '@indelible/protocol';
import type {} from 'fastify';
import { auditOf, originOf } from './audit-of.ts';
import type { AuditOptions, RequestAudit } from './request-audit.ts';

export * from './request-audit.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Records events of this request; see `fastifyAudit`. */
    audit: RequestAudit;
  }
}

/** The used part of a FastifyRequest. */
export interface FastifyRequestLike {
  id: string;
  /** By Fastify's option `trustProxy`. */
  ip: string;
  headers: Record<string, string | string[] | undefined>;
}

interface FastifyLike {
  decorateRequest(name: 'audit', value: null): unknown;
  addHook(name: 'onRequest', hook: OnRequest): unknown;
}

type OnRequest = (request: object, reply: unknown, done: () => void) => void;

/**
 * A Fastify plugin that adds `request.audit` to every request. Register it before plugins that
 * record. It reads the actor when an event is made.
 */
export function fastifyAudit<Request extends FastifyRequestLike>(options: AuditOptions<Request>) {
  const plugin = (app: FastifyLike, _: unknown, done: () => void): void => {
    app.decorateRequest('audit', null);
    app.addHook('onRequest', (request, _reply, next) => {
      Object.assign(request, { audit: auditOfRequest(options, request as Request) });
      next();
    });
    done();
  };
  // Like fastify-plugin: the hook covers the whole application, not only this plugin.
  return Object.assign(plugin, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: '@indelible/client/fastify',
  });
}

function auditOfRequest<Request extends FastifyRequestLike>(
  options: AuditOptions<Request>,
  request: Request,
): RequestAudit {
  const { id, ip, headers } = request;
  // Fastify's default counter restarts with each process.
  const ownId = /^req-[0-9a-z]+$/.test(id) ? null : id;
  const headerOf = (name: string) => headers[name]?.toString();
  return auditOf(options, request, originOf(headerOf, plainIp(ip), ownId));
}
