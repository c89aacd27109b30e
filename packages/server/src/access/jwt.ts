import {
  agentsOf,
  externalUuid,
  isEmail,
  isOwnId,
  namesAgents,
  nilUuid,
  ownIdOf,
  type Scope,
  tenantUuid,
} from '@indelible/protocol';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import type { AuthConfig } from '../config.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { unauthenticated } from './bearer.ts';
import type { Principal } from './principal.ts';

// An explicit list: with a symmetric algorithm, the public key would be a valid signing secret.
const asymmetric = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const clockToleranceSeconds = 5;

/** People read, export, restore, manage webhooks and alerts; the rest needs keys. */
export const personScopes: ReadonlySet<Scope> = new Set<Scope>([
  'events:read',
  'exports:write',
  'restore:write',
  'webhooks:write',
  'alerts:write',
]);

/** The person of a token, and its end: no session that it opens lasts longer. */
export type JwtPrincipal = Principal & { expiresAtMs: number };

/**
 * Verifies JWTs by key set or shared secret, as configured; null if neither is. Throws
 * `unauthenticated` for a wrong, unsigned, expired or foreign token or a missing claim, `forbidden`
 * for a role without rights here, and `unavailable` if the key set cannot be read (the token may be
 * valid). No message contains a part of the token.
 */
export function createJwtVerifier(
  auth: AuthConfig,
  now: () => number,
): ((token: string) => Promise<JwtPrincipal>) | null {
  const getKey = keySource(auth);
  if (getKey === null) return null;
  const options = verifyOptions(auth);
  return async (token) => {
    const payload = await verify(token, getKey, { ...options, currentDate: new Date(now()) });
    return principalOf(payload, auth);
  };
}

function keySource({ jwksUrl, jwtSecret }: AuthConfig): JWTVerifyGetKey | null {
  if (jwksUrl !== null) return remoteKeys(new URL(jwksUrl));
  if (jwtSecret === null) return null;
  const secret = new TextEncoder().encode(jwtSecret);
  return () => secret;
}

/** Cached for ten minutes; an unknown key id reads the set again, at most every 30 s. */
function remoteKeys(url: URL): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(url, { [customFetch]: onceASecond() });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (namesNoKey(error)) throw error;
      throw unavailable('the keys that tokens are checked with cannot be read; try again');
    }
  };
}

/**
 * A set that could not be read is not read again at once: any stranger's token would cause a call,
 * and an identity provider that is overloaded would get more of them.
 */
function onceASecond(): FetchImplementation {
  let lastMs = -Infinity;
  return async (url, options) => {
    const nowMs = performance.now();
    if (nowMs < lastMs + 1_000) throw new Error('the key set was read less than a second ago');
    lastMs = nowMs;
    return withBounds(await fetch(url, options));
  };
}

const keySetBytesMax = 2 ** 20;

/** Throws for a larger answer: a broken identity provider must not fill the memory. */
async function withBounds(answer: Response): Promise<Response> {
  if (answer.status !== 200 || answer.body === null) return answer;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop ends the answer.
  for await (const part of answer.body) {
    bytes += part.length;
    if (bytes > keySetBytesMax) throw new Error('the key set is larger than 1 MiB');
    parts.push(part);
  }
  return new Response(Buffer.concat(parts), answer);
}

/** The set was read, but the token names none of its keys, or (without a key id) several match. */
function namesNoKey(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
  );
}

function verifyOptions({
  jwksUrl,
  issuer,
  operatorIssuer,
  audience,
}: AuthConfig): JWTVerifyOptions {
  // The operators' issuer may be a second one; `roleOf` lets no other issuer make operators.
  const issuers = [issuer, operatorIssuer].filter((name) => name !== null);
  return {
    algorithms: jwksUrl === null ? ['HS256'] : asymmetric,
    requiredClaims: ['exp'],
    clockTolerance: clockToleranceSeconds,
    ...(issuer === null ? {} : { issuer: issuers }),
    ...(audience === null ? {} : { audience }),
  };
}

async function verify(token: string, getKey: JWTVerifyGetKey, options: JWTVerifyOptions) {
  try {
    return (await jwtVerify(token, getKey, options)).payload;
  } catch (error) {
    if (error instanceof AppError) throw error;
    // All other errors of jose concern the token; their messages may quote a claim.
    throw unauthenticated();
  }
}

function principalOf(payload: JWTPayload, auth: AuthConfig): JwtPrincipal {
  const role = roleOf(payload, auth);
  const email = payload[auth.claims.email];
  const tenantId = role === 'admin' ? tenantClaim(payload, auth.claims.tenantId) : null;
  // Without a name for the agent, the log would say that the person acted.
  if (!namesAgents(payload)) throw unauthenticated('the claim act must name each actor by sub');
  return {
    kind: 'jwt',
    ...personClaim(payload, auth.claims.sub, tenantId),
    email: typeof email === 'string' && isEmail(email) ? email : null,
    role,
    tenantId,
    scopes: personScopes,
    recheckKeyId: null,
    maker: null,
    agents: agentsOf(payload),
    session: null,
    expiresAtMs: (payload.exp ?? 0) * 1_000,
  };
}

function roleOf(
  payload: JWTPayload,
  { claims, operatorIssuer }: AuthConfig,
): 'admin' | 'superadmin' {
  const role = payload[claims.role];
  if (role === 'admin') return role;
  if (role !== 'superadmin') {
    throw new AppError('forbidden', `the claim ${claims.role} must be admin or superadmin`);
  }
  // Otherwise a tenant's own identity provider could make an operator.
  if (operatorIssuer !== null && payload.iss !== operatorIssuer) {
    throw new AppError(
      'forbidden',
      'this issuer cannot make operators; only AUTH_OPERATOR_ISSUER can',
    );
  }
  return role;
}

/** An operator's token names no tenant: `idIn` derives the UUID that a tenant's log shows. */
function personClaim(payload: JWTPayload, name: string, tenantId: string | null) {
  const own = ownText(payload[name]);
  if (!isOwnId(own)) throw wrongId(name);
  return { id: externalUuid(tenantId ?? nilUuid, 'actor', own), externalId: ownIdOf(own) };
}

/** A UUID, or the host's own id, which may be a number. */
function tenantClaim(payload: JWTPayload, name: string): string {
  const id = tenantUuid(ownText(payload[name]));
  if (id !== null) return id;
  throw wrongId(name);
}

const wrongId = (name: string) =>
  unauthenticated(`the claim ${name} must be a UUID, or an own id of visible characters`);

const ownText = (value: unknown): string =>
  typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : '';
