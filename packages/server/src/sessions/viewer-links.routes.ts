import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { externalUuid, formatTimestamp, ownIdOf } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { personScopes } from '../access/jwt.ts';
import { parseReasonField } from '../access/operator-access.ts';
import { makerOf, type Principal, requireActsFor } from '../access/principal.ts';
import { tenantNamed } from '../access/tenant-name.ts';
import { hashSecretToken, newSecretToken } from '../crypto/secret-token.ts';
import { AppError, invalid } from '../http/problem.ts';
import { actorOf, type OwnEvent } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { type Database, write } from '../postgres/db.ts';
import { tenantExists } from '../tenants/store.ts';
import { ttlSecondsDefault, ViewerLink, ViewerLinkInput } from './schemas.ts';
import { linkEvent } from './sign-in-events.ts';
import { insertViewerLink, type ViewerLink as Link } from './store.ts';

const options = {
  config: { scope: 'viewer-links:write' },
  schema: {
    tags: ['Panel'],
    operationId: 'createViewerLink',
    summary: 'Make a link that opens the panel',
    description:
      'For the backend of the host product, which knows who is signed in there. The link works once, ' +
      "within its time, and is recorded in the tenant's log. One for an operator needs a reason. Who enters may do " +
      'no more than the key that made the link.',
    body: ViewerLinkInput,
    response: { 201: ViewerLink },
  },
} as const;

/** `POST /api/viewer-links`: a link to the panel for a person signed in to the host product. */
export function viewerLinkRoutes(app: FastifyInstance, parts: Parts): void {
  const typed = app.withTypeProvider<TypeBoxTypeProvider>();
  typed.post('/api/viewer-links', options, async (request, reply) => {
    requireMayOpen(request.principal, request.body);
    const link = linkOf(parts, request.principal, request.body);
    await requireTenant(parts.db, link.tenantId);
    const declared = await withReason(parts, link, request.body.reason, actorOf(request));
    const token = newSecretToken();
    await storeLink(parts, declared, token, actorOf(request));
    reply.code(201);
    // After the `#`, so that no server, log or preview sees it.
    const url = `${parts.publicUrl()}/enter#${token}`;
    return { url, expiresAt: formatTimestamp(link.expiresAtMs) };
  });
}

type Input = Static<typeof ViewerLinkInput>;

/** Only the platform may make links for operators: a tenant must not fake their visits. */
function requireMayOpen(principal: Principal, { tenantId, actor }: Input): void {
  requireActsFor(principal, tenantNamed(tenantId));
  if (actor.role === 'admin') return;
  if (principal.tenantId !== null) {
    throw new AppError('forbidden', 'a link for an operator needs a platform-bound credential');
  }
  if (actor.email !== null) return;
  const errors = [
    { path: '/actor/email', code: 'required', message: 'is required for superadmin' },
  ];
  throw invalid(errors, 'a link for an operator needs an e-mail address');
}

function linkOf({ now, newUuid }: Parts, maker: Principal, input: Input): Link {
  const nowMs = now();
  const { actor, ttlSeconds, path } = input;
  const tenantId = tenantNamed(input.tenantId);
  return {
    id: newUuid(nowMs),
    tenantId,
    actorId: externalUuid(tenantId, 'actor', actor.id),
    actorExternalId: ownIdOf(actor.id),
    actorEmail: actor.email,
    actorRole: actor.role,
    reason: null,
    openedBy: makerOf(maker),
    // Otherwise a key could give itself more rights.
    scopes: [...personScopes].filter((scope) => maker.scopes.has(scope)),
    path: path ?? null,
    expiresAtMs: nowMs + (ttlSeconds ?? ttlSecondsDefault) * 1_000,
  };
}

async function requireTenant(db: Database, id: string): Promise<void> {
  if (await write(db, (tx) => tenantExists(tx, id))) return;
  throw new AppError('unknown_tenant', undefined, {
    errors: [{ path: '/tenantId', code: 'unknown_tenant', message: 'is not a tenant' }],
  });
}

/** An operator's link with its reason; throws `reason_required` after recording the refusal. */
async function withReason(
  { recordQueued }: Parts,
  link: Link,
  reason: string | null | undefined,
  maker: OwnEvent['actor'],
): Promise<Link> {
  if (link.actorRole === 'admin') return link;
  try {
    return { ...link, reason: parseReasonField(reason) };
  } catch (refusal) {
    await recordQueued(link.tenantId, linkEvent(maker, link, 'refused'));
    throw refusal;
  }
}

async function storeLink(
  { db, recordOwn }: Parts,
  link: Link,
  token: string,
  maker: OwnEvent['actor'],
): Promise<void> {
  await write(db, async (tx) => {
    await insertViewerLink(tx, hashSecretToken(token), link);
    await recordOwn(tx, link.tenantId, linkEvent(maker, link, 'made'));
  });
}
