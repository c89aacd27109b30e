import { createHash, timingSafeEqual } from 'node:crypto';
import { type Scope, scopes, uuidFromBytes } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AuthConfig } from '../config.ts';
import { hashSecretToken } from '../crypto/secret-token.ts';
import { isAllowedFrom } from '../http/ip-range.ts';
import { AppError } from '../http/problem.ts';
import { RecentMap } from '../http/recent-map.ts';
import { apiKeyUuid, bearerToken, unauthenticated } from './bearer.ts';
import { createJwtVerifier, type JwtPrincipal } from './jwt.ts';
import type { Principal, StoredApiKey } from './principal.ts';

/**
 * The caller of a session cookie. Throws `unauthenticated`, or `forbidden` for another site's page.
 */
export type AuthenticateSession = (request: FastifyRequest) => Promise<Principal>;

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the handler of every route whose scope is not `public`. */
    principal: Principal;
  }
  interface FastifyContextConfig {
    /** The required scope; with `authenticated` any valid credential, and the handler decides. */
    scope?: Scope | 'public' | 'authenticated';
  }
}

interface AuthenticatorDeps {
  auth: AuthConfig;
  platformApiKeys: readonly string[];
  findApiKey: (id: string) => Promise<StoredApiKey | null>;
  /** Writes down that a key was used; called every ten minutes at most for one key. */
  noteUse: (id: string, nowMs: number) => Promise<void>;
  now: () => number;
}

interface AuthenticateOptions {
  cached: boolean;
  /** Where the call comes from. */
  ip: string;
}

type KnownKey = StoredApiKey & { principal: Principal };

const cachedKeysMax = 10_000;
/** More than keys, for each is small: the use of a key that is not in it is written again. */
const notedUsesMax = 100_000;
const useNotedEveryMs = 600_000;

export type Authenticator = ReturnType<typeof createAuthenticator>;

export function createAuthenticator(deps: AuthenticatorDeps) {
  const platformKeys = deps.platformApiKeys.map(knownPlatformKey);
  const verifyJwt = createJwtVerifier(deps.auth, deps.now);
  const cache = new RecentMap<KnownKey>(cachedKeysMax);
  const readOnce = readingOnce((id) => readKey(deps, id));
  const usedAt = new RecentMap<number>(notedUsesMax);

  async function find(id: string, cached: boolean): Promise<KnownKey | null> {
    return cached ? (cache.get(id) ?? readOnce(id)) : readKey(deps, id);
  }

  async function noteUse(id: string, nowMs: number): Promise<void> {
    if (nowMs - (usedAt.get(id) ?? -Infinity) < useNotedEveryMs) return;
    usedAt.set(id, nowMs);
    // For display alone: a call must not fail because this cannot be written.
    await deps.noteUse(id, nowMs).catch(() => usedAt.delete(id));
  }

  async function authenticateKey(
    id: string,
    hash: Uint8Array,
    { cached, ip }: AuthenticateOptions,
  ) {
    const key = await find(id, cached);
    const proven = key !== null && timingSafeEqual(key.keyHash, hash);
    // Only a proven key is cached, so that invalid keys cannot evict others.
    if (proven && cached) cache.set(id, key);
    if (!proven || isExpired(key, deps.now())) throw unauthenticated();
    if (!isAllowedFrom(key.allowedIps, ip)) {
      throw new AppError('forbidden', 'this API key may not be used from this address');
    }
    await noteUse(id, deps.now());
    return key.principal;
  }

  /** The person of a JWT; throws like `authenticate`, also if no JWTs are accepted. */
  async function authenticateJwt(token: string): Promise<JwtPrincipal> {
    if (verifyJwt === null) throw unauthenticated();
    return verifyJwt(token);
  }

  return {
    authenticateJwt,
    /**
     * The caller of an `Authorization` header. Throws `unauthenticated`, the same for every wrong
     * key; `forbidden` for a valid token whose role has no rights here; `unavailable` if the
     * token's key set cannot be read. `cached` may use facts that never change, so it misses a
     * revocation: only for recording, whose flush checks revocation in its transaction.
     */
    async authenticate(
      authorization: string | undefined,
      { cached = false, ip = '' }: Partial<AuthenticateOptions> = {},
    ): Promise<Principal> {
      const token = bearerToken(authorization);
      const hash = hashSecretToken(token);
      const platformKey = findPlatformKey(platformKeys, hash);
      if (platformKey) return platformKey.principal;
      const keyId = apiKeyUuid(token);
      if (keyId !== null) return authenticateKey(keyId, hash, { cached, ip });
      return authenticateJwt(token);
    },
    /** Drops a key from the cache after its revocation. */
    forget: (keyId: string) => {
      cache.delete(keyId);
    },
  };
}

/** Many first calls with a key read it once: else they wait seconds for connections. */
function readingOnce(read: (id: string) => Promise<KnownKey | null>) {
  const reading = new Map<string, Promise<KnownKey | null>>();
  return (id: string) => {
    const found = reading.get(id) ?? read(id).finally(() => reading.delete(id));
    reading.set(id, found);
    return found;
  };
}

async function readKey({ findApiKey }: AuthenticatorDeps, id: string): Promise<KnownKey | null> {
  const stored = await findApiKey(id);
  return stored === null || stored.revokedAtMs !== null ? null : knownKey(stored);
}

function knownPlatformKey(key: string): KnownKey {
  const keyHash = hashSecretToken(key);
  const unbound = { tenantId: null, expiresAtMs: null, revokedAtMs: null, allowedIps: null };
  return knownKey({ id: platformKeyId(keyHash), keyHash, scopes, madeBy: null, ...unbound }, null);
}

function knownKey(key: StoredApiKey, recheckKeyId: string | null = key.id): KnownKey {
  const { id, tenantId, madeBy: maker } = key;
  const principal = {
    ...({ kind: 'api_key', role: 'api_key', email: null } as const),
    id,
    externalId: null,
    tenantId,
    scopes: new Set(key.scopes),
    recheckKeyId,
    maker,
    agents: [],
    session: null,
  };
  return { ...key, principal };
}

/** A UUIDv8 of the key's hash, hashed again under its own label, because the log shows it. */
function platformKeyId(keyHash: Uint8Array): string {
  const digest = createHash('sha256')
    .update('indelible/platform-key-id/v1\n')
    .update(keyHash)
    .digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return uuidFromBytes(digest);
}

/**
 * Compares with every key, so that the duration does not show which key matched, or how much of it.
 */
function findPlatformKey(keys: readonly KnownKey[], hash: Uint8Array): KnownKey | null {
  return keys.filter((key) => timingSafeEqual(key.keyHash, hash))[0] ?? null;
}

function isExpired(key: KnownKey, nowMs: number): boolean {
  return key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
}

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
