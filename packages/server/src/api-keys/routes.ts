import { formatTimestamp, isUuid, parseTimestamp, timestampOrNull } from '@indelible/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { newApiKeyText } from '../access/bearer.ts';
import { administratorHeaders } from '../access/operator-access.ts';
import { makerOf, requireActsFor } from '../access/principal.ts';
import { administrator } from '../access/tenant-access.ts';
import { tenantNamed } from '../access/tenant-name.ts';
import { hashSecretToken } from '../crypto/secret-token.ts';
import { answerPage, PageQuery, readPage } from '../http/keyset-page.ts';
import { AppError, invalid } from '../http/problem.ts';
import { Type } from '../http/type.ts';
import type { OwnEvent, Who } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { write } from '../postgres/db.ts';
import { tenantExists } from '../tenants/store.ts';
import { requireMayGrant, requireSeesKeys } from './grants.ts';
import { ApiKeyInput, ApiKeyPage, NewApiKey, platformKeys, tenantKeys } from './schemas.ts';
import { type ApiKeyRow, apiKeyExists, insertApiKey, listApiKeys, revokeApiKey } from './store.ts';

export interface ApiKeyRouteDeps extends Pick<Parts, 'db' | 'now' | 'newUuid' | 'recordOwn'> {
  /** Drops a revoked key from this process's cache; flushes of other processes refuse it anyway. */
  forgetKey: (id: string) => void;
}

/** Creates, lists and revokes API keys, of a tenant and of the platform. */
export function apiKeyRoutes(app: FastifyInstance, deps: ApiKeyRouteDeps): void {
  for (const { kind, url, params, keyParams } of [tenantKeys, platformKeys]) {
    app.post<{ Params: KeysPath; Body: Static<typeof ApiKeyInput> }>(
      url,
      { config, schema: { ...makeSchema, operationId: `create${kind}ApiKey`, params } },
      (request, reply) => makeKey(deps, request, reply, ownerOf(request.params), request.body),
    );
    app.get<{ Params: KeysPath }>(
      url,
      {
        config: { scope: 'authenticated' },
        schema: { ...listSchema, operationId: `list${kind}ApiKeys`, params },
      },
      (request) => listKeys(deps, request, ownerOf(request.params)),
    );
    app.delete<{ Params: KeysPath & { keyId: string } }>(
      `${url}/:keyId`,
      {
        config,
        schema: { ...revokeSchema, operationId: `revoke${kind}ApiKey`, params: keyParams },
      },
      (request, reply) =>
        revokeKey(deps, request, reply, ownerOf(request.params), request.params.keyId),
    );
  }
}

/** The parameters of a path: `id` is the tenant's; none is the platform. */
interface KeysPath {
  id?: string;
}

const ownerOf = ({ id }: KeysPath): string | null => (id === undefined ? null : tenantNamed(id));

const tags = ['API keys'];
const config = { scope: 'tenants:write' } as const;

const makeSchema = {
  tags,
  summary: 'Make an API key',
  description:
    'Only this answer shows the key. A key of the platform may name any tenant, a key of a tenant ' +
    'only its own.',
  headers: administratorHeaders,
  body: ApiKeyInput,
  response: {
    201: NewApiKey,
  },
};

const listSchema = {
  tags,
  summary: 'List API keys',
  description:
    'Includes revoked and expired keys, never the secret keys themselves. For `tenants:write`, and for ' +
    'an admin of this very tenant.',
  querystring: PageQuery,
  response: {
    200: ApiKeyPage,
  },
};

const revokeSchema = {
  tags,
  summary: 'Revoke an API key',
  description:
    'Takes effect at once and cannot be undone; sessions that its viewer links opened end too. ' +
    'Revoking it again changes nothing.',
  headers: administratorHeaders,
  response: {
    204: Type.Null({ description: 'The key is revoked.' }),
  },
};

/** `owner` is the tenant's id, or null for a platform-bound key. */
async function makeKey(
  deps: ApiKeyRouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  owner: string | null,
  input: Static<typeof ApiKeyInput>,
) {
  requireActsFor(request.principal, owner);
  requireMayGrant(request.principal, input.scopes);
  const who = administrator(request);
  const nowMs = deps.now();
  const row: ApiKeyRow = {
    id: deps.newUuid(nowMs),
    tenantId: owner,
    name: input.name,
    scopes: input.scopes,
    createdAtMs: nowMs,
    expiresAtMs: readExpiry(input.expiresAt ?? null, nowMs),
    revokedAtMs: null,
    madeBy: makerOf(request.principal),
    allowedIps: input.allowedIps ?? null,
    lastUsedAtMs: null,
  };
  const key = newApiKeyText(row.id);
  await write(deps.db, async (tx) => {
    if (owner !== null && !(await tenantExists(tx, owner))) throw new AppError('not_found');
    await insertApiKey(tx, row, hashSecretToken(key));
    if (owner !== null) await deps.recordOwn(tx, owner, keyEvent('create', who, row));
  });
  reply.code(201);
  return { ...shown(row), key };
}

async function listKeys(deps: ApiKeyRouteDeps, request: FastifyRequest, owner: string | null) {
  requireSeesKeys(request.principal, owner);
  const read = (from: string, max: number) =>
    write(deps.db, async (tx) => {
      if (owner !== null && !(await tenantExists(tx, owner))) throw new AppError('not_found');
      return listApiKeys(tx, owner, from, max);
    });
  return answerPage(readPage(request, 'oldest'), read, (rows) =>
    rows.map((row) => ({ ...shown(row), revokedAt: timestampOrNull(row.revokedAtMs) })),
  );
}

async function revokeKey(
  deps: ApiKeyRouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  owner: string | null,
  keyId: string,
) {
  requireActsFor(request.principal, owner);
  const who = administrator(request);
  if (!isUuid(keyId)) throw new AppError('not_found');
  const id = keyId.toLowerCase();
  await write(deps.db, async (tx) => {
    const revoked = await revokeApiKey(tx, id, owner, deps.now());
    if (revoked === null && !(await apiKeyExists(tx, id, owner))) throw new AppError('not_found');
    if (revoked && owner !== null)
      await deps.recordOwn(tx, owner, keyEvent('delete', who, revoked));
  });
  deps.forgetKey(id);
  return reply.code(204).send();
}

function readExpiry(text: string | null, nowMs: number): number | null {
  const expiresAtMs = text === null ? null : parseTimestamp(text);
  if (expiresAtMs === null || expiresAtMs > nowMs) return expiresAtMs;
  const message = 'must be in the future';
  const errors = [{ path: '/expiresAt', code: 'out_of_range', message }];
  throw invalid(errors, 'the expiry is in the past');
}

function keyEvent(action: 'create' | 'delete', who: Who, row: ApiKeyRow): OwnEvent {
  const { id, name, scopes, expiresAtMs, allowedIps, madeBy } = row;
  const expiresAt = timestampOrNull(expiresAtMs);
  const state = { name, scopes: [...scopes], expiresAt, allowedIps, madeBy };
  return {
    ...who,
    action,
    resource: { type: 'api_key', id, name },
    setsUp: true,
    ...(action === 'create' ? { after: state } : { before: state }),
  };
}

function shown(row: ApiKeyRow) {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    createdAt: formatTimestamp(row.createdAtMs),
    expiresAt: timestampOrNull(row.expiresAtMs),
    tenantId: row.tenantId,
    madeBy: row.madeBy,
    allowedIps: row.allowedIps,
    lastUsedAt: timestampOrNull(row.lastUsedAtMs),
  };
}
