import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import type { AuthenticateSession, Authenticator } from '../access/auth.ts';
import type { Metrics } from '../operations/metrics.ts';
import { AppError } from './problem.ts';

/**
 * Every answer names its request; every request is
 * counted and logged by its route, not its address.
 */
export function answerWithId(http: FastifyInstance, metrics: Metrics): void {
  // Hooks that wait for nothing say so: each promise would cost every request a turn.
  http.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    // No page of others shows what the service answers,
    // nor loads it; the panel's own pages say more.
    reply.header('x-frame-options', 'DENY');
    reply.header('cross-origin-resource-policy', 'same-origin');
    done();
  });
  http.addHook('onSend', (request, reply, payload, done) => {
    if (request.principal && !reply.hasHeader('cache-control')) {
      reply.header('cache-control', 'no-store');
    }
    done(null, payload);
  });
  http.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const route = request.routeOptions.url ?? 'unknown';
    const status = reply.statusCode;
    metrics.request(method, route, status, reply.elapsedTime / 1_000);
    request.log.info({ method, route, status, ms: Math.round(reply.elapsedTime) }, 'answered');
    done();
  });
}

/**
 * Closing waits for every request that was taken, and for nothing
 * else: a connection that is kept alive, or on which nothing was asked
 * yet, would hold the server open for as long as its client likes.
 */
export function closeAfterLastAnswer(http: FastifyInstance): void {
  let closing = false;
  let open = 0;
  const endConnections = () => {
    if (closing && open === 0) http.server.closeAllConnections();
  };
  http.addHook('onRequest', (_request, reply, done) => {
    open++;
    // Unlike `finish` also heard when the client has gone away.
    reply.raw.once('close', () => {
      open--;
      if (closing) setImmediate(endConnections);
    });
    done();
  });
  http.addHook('onSend', (_request, reply, payload, done) => {
    if (closing) reply.header('connection', 'close');
    done(null, payload);
  });
  http.addHook('preClose', async () => {
    closing = true;
    setImmediate(endConnections); // once the server takes no new ones
  });
}

const operations = ['/healthz', '/readyz', '/metrics'];

/**
 * For a process that only works in the background: whoever runs it is answered, and nobody else.
 */
export function answerOperationsOnly(http: FastifyInstance): void {
  http.addHook('onRequest', async ({ routeOptions }) => {
    if (operations.includes(routeOptions.url ?? '')) return;
    throw new AppError(
      'not_found',
      'this process only works in the background (--role worker); call another process',
    );
  });
}

/**
 * Every route names its scope, or the service does not start; `/docs` is public by design. A bearer
 * credential counts alone: a browser adds its cookie to any request, but never that header.
 */
export function authenticateRoutes(
  http: FastifyInstance,
  authenticator: Authenticator,
  authenticateSession: AuthenticateSession,
): void {
  http.decorateRequest('principal');
  http.addHook('onRoute', ({ url, config }) => {
    if (config?.scope !== undefined || url.startsWith('/docs')) return;
    throw new Error(`the route ${url} names no scope`);
  });
  http.addHook('onRequest', async (request) => {
    const { scope } = request.routeOptions.config;
    if (request.is404 || scope === undefined || scope === 'public') return;
    const { authorization } = request.headers;
    // Recording may use remembered keys: its flush asks the database again before it commits.
    const cached = scope === 'events:write';
    request.principal =
      authorization === undefined
        ? await authenticateSession(request)
        : await authenticator.authenticate(authorization, { cached });
    if (scope !== 'authenticated' && !request.principal.scopes.has(scope)) {
      throw new AppError('forbidden', `this needs a credential with the scope ${scope}`);
    }
  });
}

/** Reads are limited per credential; writes have the queue's back-pressure instead. */
export async function limitReads(http: FastifyInstance, maxPerMinute: number): Promise<void> {
  await http.register(rateLimit, {
    max: maxPerMinute,
    timeWindow: 60_000,
    hook: 'preHandler',
    keyGenerator: ({ principal }) => principal?.session?.id ?? principal?.id ?? 'public',
    // HEAD reads as GET does, only without showing it.
    allowList: ({ method, principal }) => (method !== 'GET' && method !== 'HEAD') || !principal,
    errorResponseBuilder: () =>
      new AppError('rate_limited', 'too many reads with this credential; wait as Retry-After says'),
  });
}
