import type { Context } from 'hono';
import { auditOf } from './audit-of.ts';
import type { ProxyOptions } from './client-address.ts';
import { originFinder } from './fetch.ts';
import type { AuditOptions, RequestAudit } from './request-audit.ts';

export type { ProxyOptions } from './client-address.ts';
export * from './request-audit.ts';

/** For `new Hono<{ Variables: AuditVariables }>()`. */
export interface AuditVariables {
  /** Records events of this request; see `honoAudit`. */
  audit: RequestAudit;
}

export interface HonoAuditOptions<C> extends AuditOptions<C>, ProxyOptions {
  /** The `getConnInfo` of the adapter in use; default: that of `@hono/node-server`. */
  getConnInfo?(context: C): { remote: { address?: string | undefined } };
}

/**
 * Sets the variable `audit`. Use it before handlers that record. It reads the actor when an event
 * is made; give `Context<Env>` to have its variables typed. Throws TypeError for invalid
 * `trustedProxies`.
 */
export function honoAudit<C extends Context>(options: HonoAuditOptions<C>) {
  const originOf = originFinder(options);
  return async (context: C, next: () => Promise<void>): Promise<void> => {
    const peer = options.getConnInfo
      ? options.getConnInfo(context).remote.address
      : nodePeer(context.env);
    const origin = originOf((name) => context.req.header(name), peer);
    context.set('audit', auditOf(options, context, origin));
    await next();
  };
}

/** Where `@hono/node-server` stores Node's request. */
interface NodeBindings {
  incoming?: { socket?: { remoteAddress?: string } };
}

function nodePeer(env: unknown): string | undefined {
  const { server, incoming } = (env ?? {}) as NodeBindings & { server?: NodeBindings };
  return (incoming ?? server?.incoming)?.socket?.remoteAddress;
}
