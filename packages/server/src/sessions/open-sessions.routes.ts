import { formatTimestamp, typeId, uuidFromTypeId, uuidTimeMs } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { lookAt, operatorHeaders, readAsTenant } from '../access/index.ts';
import { AppError, answerPage, idParams, PageQuery, readPage } from '../http/index.ts';
import type { Parts } from '../parts.ts';
import { write } from '../postgres/index.ts';
import { OpenSessionPage } from './schemas.ts';
import { endedSessionEvent } from './sign-in-events.ts';
import { endSession, listSessions, type StoredSession } from './store.ts';

export type OpenSessionDeps = Pick<Parts, 'db' | 'now' | 'recordOwn' | 'recordAccess'>;

const prefix = 'sess_';
const path = '/api/sessions';
const config = { scope: 'authenticated' as const, schema: 'enforced' as const };

/** `/api/sessions`: who is signed in to the panel of a tenant. Its admins may end any session. */
export function openSessionRoutes(app: FastifyInstance, deps: OpenSessionDeps): void {
  const { db, now, recordOwn, recordAccess } = deps;

  app.get(path, { config, schema: listSchema }, async (request) => {
    requireAdministers(request);
    const page = readPage(request, 'newest');
    return readAsTenant(request, recordAccess, lookAt('sessions', request), ({ tenantId }) =>
      answerPage(
        page,
        (from, max) => write(db, (tx) => listSessions(tx, tenantId, now(), from, max)),
        (rows) => rows.map((row) => shown(row, request)),
      ),
    );
  });

  app.delete(`${path}/:id`, { config, schema: endSchema }, async (request, reply) => {
    requireAdministers(request);
    const id = uuidFromTypeId(prefix, (request.params as { id: string }).id);
    await readAsTenant(
      request,
      recordAccess,
      lookAt('sessions', request),
      async ({ tenantId, ...who }) => {
        await write(db, async (tx) => {
          const ended = id && (await endSession(tx, tenantId, id, now()));
          if (!ended) throw new AppError('not_found', 'there is no such session');
          await recordOwn(tx, tenantId, endedSessionEvent(ended, who));
        });
      },
    );
    return reply.code(204).send();
  });
}

const listSchema = {
  tags: ['Panel'],
  operationId: 'listSessions',
  summary: 'Who is signed in to the panel',
  description: 'For an admin of the tenant with `events:read`, and for the scope `tenants:write`.',
  headers: operatorHeaders,
  querystring: PageQuery,
  response: { 200: OpenSessionPage },
};

const endSchema = {
  tags: ['Panel'],
  operationId: 'endSession',
  summary: 'End a session',
  description: "Takes effect at once, and is recorded in the tenant's log.",
  headers: operatorHeaders,
  params: idParams("The session's id, `sess_...`."),
  response: { 204: Type.Null({ description: 'The session has ended.' }) },
};

/** Throws `forbidden` for who is no admin of the tenant; a session holds what its link gave it. */
function requireAdministers({ principal: { role, scopes } }: FastifyRequest): void {
  if (scopes.has('tenants:write') || (role === 'admin' && scopes.has('events:read'))) return;
  throw new AppError('forbidden', 'this needs an admin of the tenant, or the scope tenants:write');
}

function shown(row: StoredSession, { principal }: FastifyRequest) {
  const { id, actorId, actorEmail, actorRole, reason, signedInBy, openedBy } = row;
  return {
    id: typeId(prefix, id),
    actor: { id: actorId, email: actorEmail, role: actorRole },
    crossTenant: actorRole === 'superadmin',
    ...{ reason, signedInBy, openedBy },
    isOwn: principal.session?.id === id,
    createdAt: formatTimestamp(uuidTimeMs(id)),
    idleExpiresAt: formatTimestamp(row.idleExpiresAtMs),
    expiresAt: formatTimestamp(row.expiresAtMs),
  };
}
