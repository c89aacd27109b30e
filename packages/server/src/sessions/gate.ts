import type { FastifyRequest } from 'fastify';
import type { AuthenticateSession } from '../access/auth.ts';
import { unauthenticated } from '../access/bearer.ts';
import { personScopes } from '../access/jwt.ts';
import type { Principal } from '../access/principal.ts';
import { hashSecretToken } from '../crypto/secret-token.ts';
import { AppError } from '../http/problem.ts';
import type { Parts } from '../parts.ts';
import { unavailability } from '../postgres/db.ts';
import { readCookie, type SessionCookie } from './cookie.ts';
import { isForeignRequest } from './origin.ts';
import { prolongedTo } from './session-times.ts';
import { findSession, prolongSession, type StoredSession } from './store.ts';

export interface GateDeps extends Pick<Parts, 'db' | 'now'> {
  cookie: SessionCookie;
  /** Whether an Origin header names the service itself. */
  isOwnOrigin: (origin: string | undefined) => boolean;
}

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Accepts the panel's cookie. Browsers send it automatically, so requests caused by a foreign page
 * must be refused: requests that the browser marks as cross-site, and unsafe ones without the
 * service's Origin header.
 */
export function sessionGate(deps: GateDeps): AuthenticateSession {
  return async (request) => {
    const token = readCookie(deps.cookie, request.headers.cookie);
    if (token === null || isForeignRequest(request.headers['sec-fetch-site'])) {
      throw unauthenticated();
    }
    if (!safeMethods.includes(request.method)) requireOwnOrigin(request, deps);
    const nowMs = deps.now();
    const tokenHash = hashSecretToken(token);
    const session = await findSession(deps.db.writer, tokenHash, nowMs);
    if (session === null) throw unauthenticated();
    const until = prolongedTo(nowMs, session);
    const isProlonged = until !== null && (await prolong(deps, tokenHash, until));
    return principalOf(isProlonged ? { ...session, idleExpiresAtMs: until } : session);
  };
}

/** False while the database takes no writes: then a read is answered all the same. */
async function prolong({ db }: GateDeps, tokenHash: Uint8Array, untilMs: number): Promise<boolean> {
  return prolongSession(db.writer, tokenHash, untilMs).then(
    () => true,
    (error: unknown) => {
      if (unavailability(error) === null) throw error;
      return false;
    },
  );
}

/** Throws `forbidden` unless a page of the service itself sent the request. */
export function requireOwnOrigin(
  request: FastifyRequest,
  { isOwnOrigin }: Pick<GateDeps, 'isOwnOrigin'>,
): void {
  if (isOwnOrigin(request.headers.origin)) return;
  throw new AppError(
    'forbidden',
    'only pages of the service may call this: the header Origin names another site',
  );
}

/** The principal of a session. An operator's is bound to its tenant, like an admin's. */
export function principalOf(session: StoredSession): Principal {
  const { id, reason, signedInBy, idleExpiresAtMs, expiresAtMs } = session;
  return {
    kind: 'session',
    id: session.actorId,
    externalId: session.actorExternalId,
    email: session.actorEmail,
    role: session.actorRole,
    tenantId: session.tenantId,
    scopes: session.scopes === null ? personScopes : new Set(session.scopes),
    recheckKeyId: null,
    maker: session.openedBy,
    agents: session.agents,
    session: { id, reason, signedInBy, idleExpiresAtMs, expiresAtMs },
  };
}
