import type { FastifyInstance } from 'fastify';
import { AppError } from '../http/problem.ts';
import type { AuthenticateSession, Authenticator } from './auth.ts';

/**
 * Every route names its scope, or the service does not start; `/docs` is public. A bearer
 * credential wins over a cookie: a browser adds its cookie to any request, but never that header.
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
  http.addHook('onRequest', async (request, reply) => {
    const { scope } = request.routeOptions.config;
    if (request.is404 || scope === undefined || scope === 'public') return;
    const { authorization } = request.headers;
    // Recording may use cached keys: its flush asks the database before it commits.
    const cached = scope === 'events:write';
    request.principal =
      authorization === undefined
        ? await authenticateSession(request)
        : await authenticator.authenticate(authorization, { cached, ip: request.ip });
    reply.header('cache-control', 'no-store'); // unless the call says otherwise
    if (scope !== 'authenticated' && !request.principal.scopes.has(scope)) {
      throw new AppError('forbidden', `this needs a credential with the scope ${scope}`);
    }
  });
}
