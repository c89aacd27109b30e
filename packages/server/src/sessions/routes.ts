import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { type Catalogue, formatTimestamp, scopes } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { unauthenticated } from '../access/bearer.ts';
import type { Principal } from '../access/principal.ts';
import { hashSecretToken } from '../crypto/secret-token.ts';
import { AppError } from '../http/problem.ts';
import { Type } from '../http/type.ts';
import { readTenant } from '../postgres/db.ts';
import { getTenant, type TenantRow } from '../tenants/store.ts';
import { clearCookie, readCookie, type SessionCookie, setCookie } from './cookie.ts';
import { type GateDeps, principalOf, requireOwnOrigin } from './gate.ts';
import { openSessionRoutes } from './open-sessions.routes.ts';
import { Session, SignIn } from './schemas.ts';
import { type SignInParts, signIn } from './sign-in.ts';
import { deleteSession } from './store.ts';

interface SessionParts extends GateDeps, SignInParts {
  /** The scope of the panel's page with that name. */
  sensitiveAccess: Catalogue['sensitiveAccess'];
}

const tags = ['Panel'];

/** `/api/session`: sign-in, sign-out, and the current session. */
export function sessionRoutes(app: FastifyInstance, parts: SessionParts): void {
  const typed = app.withTypeProvider<TypeBoxTypeProvider>();
  openSessionRoutes(app, parts);
  // Before the body is read: another site's page must not make browsers send any.
  const onRequest = async (request: FastifyRequest) => requireOwnOrigin(request, parts);

  typed.post('/api/session', { ...signInOptions, onRequest }, async (request, reply) => {
    const attempt = {
      credential: request.body,
      former: cookieHash(parts.cookie, request),
      whence: {
        ip: request.ip,
        userAgent: request.headers['user-agent'] || null,
      },
    };
    const opened = await signIn(parts, attempt).catch((error: unknown) => {
      throw isUnauthenticated(error) ? unauthenticated(notValid) : error;
    });
    reply.header('set-cookie', setCookie(parts.cookie, opened.token));
    reply.header('cache-control', 'no-store');
    return shown(parts, principalOf(opened.session), opened.tenant, opened.path);
  });

  typed.get('/api/session', showOptions, async ({ principal }) => {
    if (principal.session === null || principal.tenantId === null) throw unauthenticated();
    const tenant = await readTenant(parts.db, principal.tenantId, getTenant);
    if (tenant === null) throw new AppError('not_found');
    return shown(parts, principal, tenant, null);
  });

  typed.delete('/api/session', { ...signOutOptions, onRequest }, async (request, reply) => {
    const tokenHash = cookieHash(parts.cookie, request);
    if (tokenHash !== null) await deleteSession(parts.db.writer, tokenHash);
    return reply.header('set-cookie', clearCookie(parts.cookie)).code(204).send(null);
  });
}

const signInOptions = {
  config: { scope: 'public' },
  schema: {
    tags,
    operationId: 'signIn',
    'x-refuses': [401, 403, 404, 429],
    summary: 'Sign in to the panel',
    description:
      'For pages of the service itself: the header `Origin` must be its own. Spends a viewer link, or ' +
      "takes a token of the host product. The browser's former session ends, the new one is in the " +
      "cookie, and the tenant's log says who came.",
    body: SignIn,
    response: { 200: Session },
  },
} as const;

const showOptions = {
  config: { scope: 'authenticated' },
  schema: {
    tags,
    operationId: 'getSession',
    summary: 'Who is signed in to the panel',
    description: 'With the cookie of a session; `401` without one.',
    response: { 200: Session },
  },
} as const;

const signOutOptions = {
  config: { scope: 'public' },
  schema: {
    tags,
    operationId: 'signOut',
    'x-refuses': [403],
    summary: 'Sign out of the panel',
    description: 'For pages of the service itself. Ends the session, if there is one.',
    response: { 204: Type.Null({ description: 'The session has ended.' }) },
  },
} as const;

function cookieHash(cookie: SessionCookie, request: FastifyRequest): Uint8Array | null {
  const token = readCookie(cookie, request.headers.cookie);
  return token === null ? null : hashSecretToken(token);
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unauthenticated';
}

const notValid =
  'the link or token is used, expired or invalid: open the panel from your product again';

function shown(
  { sensitiveAccess }: SessionParts,
  principal: Principal,
  tenant: TenantRow,
  path: string | null,
) {
  const { id, externalId, email, role, session } = principal;
  if (session === null || role === 'api_key') throw unauthenticated();
  const { name, plan, locale, timeZone, restoreUrl, closedAtMs } = tenant;
  const closed = closedAtMs ? { closedAt: formatTimestamp(closedAtMs) } : {};
  return {
    actor: { id, externalId, email, role },
    tenant: {
      id: tenant.id,
      externalId: tenant.externalId,
      name,
      plan,
      locale,
      timeZone,
      ...closed,
      restoreUrl: restoreUrl !== null,
    },
    crossTenant: role === 'superadmin',
    reason: session.reason,
    openedBy: principal.maker,
    scopes: scopes.filter((scope) => principal.scopes.has(scope)),
    sensitiveAccess,
    expiresAt: formatTimestamp(session.expiresAtMs),
    idleExpiresAt: formatTimestamp(session.idleExpiresAtMs),
    path,
  };
}
