import { formatTimestamp, typeId, uuidTimeMs } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isReadingAdmin } from '../access/principal.ts';
import { TenantCalls } from '../access/tenant-calls.ts';
import { answerPage, PageQuery, readPage } from '../http/keyset-page.ts';
import { AppError } from '../http/problem.ts';
import { Type } from '../http/type.ts';
import type { Parts } from '../parts.ts';
import { write } from '../postgres/db.ts';
import { OpenSessionPage } from './schemas.ts';
import { endedSessionEvent } from './sign-in-events.ts';
import { endSession, listSessions, type StoredSession } from './store.ts';

const prefix = 'sess_';

/** `/api/sessions`: who is signed in to the panel of a tenant. Its admins may end any session. */
export function openSessionRoutes(app: FastifyInstance, parts: Parts): void {
  const { db, now, recordOwn } = parts;
  const none = () => new AppError('not_found', 'there is no such session');
  const sessions = new TenantCalls(app, parts, {
    lookedAt: 'sessions',
    path: '/api/sessions',
    tag: 'Panel',
    scope: 'authenticated',
    idPrefix: prefix,
    none,
  });

  const pageOfAdmin = (request: FastifyRequest) => {
    requireAdministers(request);
    return readPage(request, 'newest');
  };
  sessions.onInput('get', listSchema, pageOfAdmin, ({ tenantId, request }, page) =>
    answerPage(
      page,
      (from, max) => write(db, (tx) => listSessions(tx, tenantId, now(), from, max)),
      (rows) => rows.map((row) => shown(row, request)),
    ),
  );

  sessions.onInput('delete /:id', endSchema, requireAdministers, async ({ access, id }) => {
    const { tenantId, ...who } = access;
    await write(db, async (tx) => {
      const ended = await endSession(tx, tenantId, id(), now());
      if (!ended) throw none();
      await recordOwn(tx, tenantId, endedSessionEvent(ended, who));
    });
  });
}

const listSchema = {
  operationId: 'listSessions',
  summary: 'Who is signed in to the panel',
  description: 'For an admin of the tenant with `events:read`, and for the scope `tenants:write`.',
  querystring: PageQuery,
  response: { 200: OpenSessionPage },
};

const endSchema = {
  operationId: 'endSession',
  summary: 'End a session',
  description: "Takes effect at once, and is recorded in the tenant's log.",
  response: { 204: Type.Null({ description: 'The session has ended.' }) },
};

/** Throws `forbidden` for a caller that is no admin of the tenant. */
function requireAdministers({ principal }: FastifyRequest): void {
  if (principal.scopes.has('tenants:write') || isReadingAdmin(principal)) return;
  throw new AppError('forbidden', 'this needs an admin of the tenant, or the scope tenants:write');
}

function shown(row: StoredSession, { principal }: FastifyRequest) {
  const { id, actorId, actorEmail, actorRole, reason, signedInBy, openedBy } = row;
  return {
    id: typeId(prefix, id),
    actor: { id: actorId, externalId: row.actorExternalId, email: actorEmail, role: actorRole },
    crossTenant: actorRole === 'superadmin',
    reason,
    signedInBy,
    openedBy,
    isOwn: principal.session?.id === id,
    createdAt: formatTimestamp(uuidTimeMs(id)),
    idleExpiresAt: formatTimestamp(row.idleExpiresAtMs),
    expiresAt: formatTimestamp(row.expiresAtMs),
  };
}
