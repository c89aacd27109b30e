import { createPublicKey } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from '@indelible/testing/http-receiver';
import {
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AuthConfig } from '../config.ts';
import { AppError } from '../http/problem.ts';
import { createAuthenticator } from './auth.ts';

const now = Date.UTC(2026, 5, 1);
const seconds = now / 1_000;
const person = '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a';
const tenant = '3f0c6d54-52c2-4c1c-9a56-6b6d1f6f4a01';
const secret = 'a shared secret of at least thirty-two bytes';
const issuer = 'https://login.example.com';
const audience = 'indelible';
const claims: JWTPayload = {
  sub: person,
  email: 'ana@example.com',
  role: 'admin',
  tenantId: tenant,
  iss: issuer,
  aud: audience,
  exp: seconds + 300,
};
const personScopes = [
  ...['events:read', 'exports:write', 'restore:write', 'webhooks:write', 'alerts:write'],
];

const none: AuthConfig = {
  jwksUrl: null,
  jwtSecret: null,
  issuer: null,
  audience: null,
  operatorIssuer: null,
  claims: { sub: 'sub', email: 'email', role: 'role', tenantId: 'tenantId' },
};

/** Checks tokens, and remembers their key set. */
function authenticator(auth: Partial<AuthConfig>) {
  const config = { ...none, ...auth };
  const findApiKey = () => Promise.reject(new Error('a token was looked up as a key'));
  const noteUse = async () => {};
  const deps = { auth: config, platformApiKeys: [], findApiKey, noteUse, now: () => now };
  const { authenticate } = createAuthenticator(deps);
  return (token: string) => authenticate(`Bearer ${token}`);
}

const authenticate = (token: string, auth: Partial<AuthConfig>) => authenticator(auth)(token);

/** The code of the refusal; also makes sure that it quotes nothing of the token. */
async function codeOf(token: string, auth: Partial<AuthConfig>): Promise<string> {
  const error = await authenticate(token, auth).catch((thrown: unknown) => thrown);
  if (!(error instanceof AppError)) throw new Error('was not refused');
  expect(error.cause).toBeUndefined();
  const parts = token.split('.').filter((part) => part.length > 8);
  for (const part of [...parts, 'ana@example.com', secret]) {
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain(part);
  }
  return error.code;
}

/** The payload with claims replaced, or (undefined) left out. */
const withClaims = (changes: Record<string, unknown>): JWTPayload =>
  JSON.parse(JSON.stringify({ ...claims, ...changes }));
const hmac = (payload: JWTPayload, key = secret, alg = 'HS256') =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(new TextEncoder().encode(key));

describe('with a shared secret', () => {
  const auth = { jwtSecret: secret, issuer, audience };

  test('an admin reads, exports, restores, manages webhooks and alerts of one tenant', async () => {
    expect(await authenticate(await hmac(claims), auth)).toEqual({
      kind: 'jwt',
      id: person,
      externalId: null,
      email: 'ana@example.com',
      role: 'admin',
      tenantId: tenant,
      scopes: new Set(personScopes),
      recheckKeyId: null,
      maker: null,
      agents: [],
      session: null,
      expiresAtMs: expect.any(Number),
    });
  });

  test('a superadmin is bound to no tenant, whatever the token says', async () => {
    const principal = await authenticate(await hmac(withClaims({ role: 'superadmin' })), auth);
    expect(principal).toMatchObject({ role: 'superadmin', tenantId: null });
    expect([...principal.scopes]).toEqual(personScopes);
  });

  test('UUIDs in upper case are the same person and tenant', async () => {
    const upper = { sub: person.toUpperCase(), tenantId: tenant.toUpperCase() };
    const principal = await authenticate(await hmac(withClaims(upper)), auth);
    expect(principal).toMatchObject({ id: person, tenantId: tenant });
  });

  test('claims are found under the configured names, and not under the usual ones', async () => {
    const names = { sub: 'user_id', email: 'mail', role: 'https://x/role', tenantId: 'org' };
    const payload = { user_id: person, mail: 'a@b.c', 'https://x/role': 'admin', org: tenant };
    const token = await hmac({ ...payload, iss: issuer, aud: audience, exp: seconds + 60 });
    const principal = await authenticate(token, { ...auth, claims: names });
    expect(principal).toMatchObject({
      id: person,
      email: 'a@b.c',
      role: 'admin',
      tenantId: tenant,
    });
    expect(await codeOf(await hmac(claims), { ...auth, claims: names })).toBe('forbidden');
  });

  test.each([undefined, null, 7, 'nobody', ''])('the e-mail %j is none', async (email) => {
    const principal = await authenticate(await hmac(withClaims({ email })), auth);
    expect(principal.email).toBeNull();
  });

  test('clocks may differ by five seconds, not more', async () => {
    const late = await authenticate(await hmac(withClaims({ exp: seconds - 4 })), auth);
    const early = await authenticate(await hmac(withClaims({ nbf: seconds + 5 })), auth);
    expect([late.id, early.id]).toEqual([person, person]);
    expect(await codeOf(await hmac(withClaims({ exp: seconds - 5 })), auth)).toBe(
      'unauthenticated',
    );
    expect(await codeOf(await hmac(withClaims({ nbf: seconds + 6 })), auth)).toBe(
      'unauthenticated',
    );
  });

  test.each<[string, Record<string, unknown>]>([
    ['without exp', { exp: undefined }],
    ['with a textual exp', { exp: String(seconds + 300) }],
    ['of another issuer', { iss: 'https://evil.example.com' }],
    ['without issuer', { iss: undefined }],
    ['for another audience', { aud: 'another-service' }],
    ['without audience', { aud: undefined }],
    ['without sub', { sub: undefined }],
    ['whose sub is no id', { sub: '!ana' }],
    ['whose sub is too long', { sub: 'a'.repeat(201) }],
    ['of an admin without tenant', { tenantId: undefined }],
    ['of an admin whose tenant is no id', { tenantId: '!acme' }],
    ['of an admin of several tenants', { tenantId: [tenant] }],
  ])('a token %s is refused', async (_, changes) => {
    expect(await codeOf(await hmac(withClaims(changes)), auth)).toBe('unauthenticated');
  });

  test.each([undefined, null, 'agent', 'Admin', 'superadmin ', ['admin'], { admin: true }])(
    'the role %j may do nothing',
    async (role) => {
      expect(await codeOf(await hmac(withClaims({ role })), auth)).toBe('forbidden');
    },
  );

  test.each([
    ...[null, 'planner', true, 7, [], ['planner'], {}, { name: 'Planner' }],
    ...[
      { sub: '' },
      { sub: 7 },
      { sub: '\0' },
      { sub: 'a'.repeat(201) },
      { sub: null, name: 'Pl' },
    ],
    ...[
      { sub: 'planner', act: null },
      { sub: 'planner', act: 'gateway' },
    ],
    ...[{ sub: 'planner', act: { sub: 'gateway', act: {} } }],
  ])(
    'a token whose agent cannot be named is refused, not taken for the person: %j',
    async (act) => {
      expect(await codeOf(await hmac(withClaims({ act })), auth)).toBe('unauthenticated');
    },
  );

  test('a token signed with another secret is refused', async () => {
    const wrong = await hmac(claims, 'another secret of at least thirty-two bytes');
    expect(await codeOf(wrong, auth)).toBe('unauthenticated');
  });

  test.each(['HS384', 'HS512'])('the algorithm %s is refused even with the secret', async (alg) => {
    const longer = secret.repeat(2);
    const token = await hmac(claims, longer, alg);
    expect(await codeOf(token, { ...auth, jwtSecret: longer })).toBe('unauthenticated');
  });

  test('an asymmetric token is refused', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    expect(await codeOf(token, auth)).toBe('unauthenticated');
  });

  test.each(['none', 'None', 'NONE', ''])(
    'an unsigned token with alg %j is refused',
    async (alg) => {
      const [, payload] = new UnsecuredJWT(claims).encode().split('.');
      const header = Buffer.from(JSON.stringify({ alg })).toString('base64url');
      const [, , signature] = (await hmac(claims)).split('.');
      expect(await codeOf(`${header}.${payload}.`, auth)).toBe('unauthenticated');
      expect(await codeOf(`${header}.${payload}.${signature}`, auth)).toBe('unauthenticated');
    },
  );

  test('a token with a changed claim, a cut or a foreign signature is refused', async () => {
    const [header, payload, signature] = (await hmac(claims)).split('.');
    const operator = Buffer.from(JSON.stringify({ ...claims, role: 'superadmin' }));
    const [, , foreign] = (await hmac(withClaims({ sub: tenant }))).split('.');
    for (const token of [
      `${header}.${operator.toString('base64url')}.${signature}`,
      `${header}.${payload}.${foreign}`,
      `${header}.${payload}.${signature?.slice(0, -4)}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.x.y`,
      'no-token',
    ]) {
      expect(await codeOf(token, auth)).toBe('unauthenticated');
    }
  });

  test('a service without configuration takes no tokens', async () => {
    expect(await codeOf(await hmac(claims), {})).toBe('unauthenticated');
  });

  test('only the operator issuer makes superadmins, and it makes them although it is another one', async () => {
    const operatorIssuer = 'https://operators.example.com';
    const operators = { ...auth, operatorIssuer };
    const token = (iss: string) => hmac(withClaims({ role: 'superadmin', iss }));
    expect((await authenticate(await token(operatorIssuer), operators)).role).toBe('superadmin');
    expect(await codeOf(await token(issuer), operators)).toBe('forbidden');
    expect(await codeOf(await token('https://third.example.com'), operators)).toBe(
      'unauthenticated',
    );
    const open = { jwtSecret: secret, operatorIssuer };
    expect(await codeOf(await hmac(withClaims({ role: 'superadmin', iss: undefined })), open)).toBe(
      'forbidden',
    );
    expect((await authenticate(await hmac(claims), operators)).role).toBe('admin');
  });
});

describe('with a key set', () => {
  let server: Awaited<ReturnType<typeof listen>>;
  let answer: { status: number; body: string };
  let requests = 0;
  let auth: Partial<AuthConfig> & { jwksUrl: string };
  const pairs = new Map<string, Awaited<ReturnType<typeof generateKeyPair>>>();

  const pairOf = (kid: string) => {
    const pair = pairs.get(kid);
    if (pair === undefined) throw new Error(`no key ${kid}`);
    return pair;
  };
  const sign = (payload: JWTPayload, alg: string, kid = alg) =>
    new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(pairOf(kid).privateKey);

  async function keySet(...kids: string[]): Promise<string> {
    const keys = kids.map(async (kid) => ({
      ...(await exportJWK(pairOf(kid).publicKey)),
      kid,
      use: 'sig',
    }));
    return JSON.stringify({ keys: await Promise.all(keys) });
  }

  beforeAll(async () => {
    for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
      pairs.set(alg, await generateKeyPair(alg, { extractable: true }));
    }
    pairs.set('stranger', await generateKeyPair('RS256'));
    answer = { status: 200, body: await keySet('RS256', 'PS256', 'ES256', 'EdDSA') };
    server = await listen(() => {
      requests += 1;
      return answer;
    });
    auth = { jwksUrl: `${server.url}/jwks.json`, issuer, audience };
  });

  afterAll(() => server.close());

  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'])(
    'a token signed with %s is accepted',
    async (alg) => {
      const principal = await authenticate(await sign(claims, alg), auth);
      expect(principal).toMatchObject({ id: person, role: 'admin', tenantId: tenant });
    },
  );

  test('the key set is read once for many tokens', async () => {
    const check = authenticator(auth);
    const token = await sign(claims, 'RS256');
    const before = requests;
    await Promise.all(Array.from({ length: 5 }, () => check(token)));
    await check(token);
    expect(requests - before).toBe(1);
  });

  test('a token signed with the public key as if it were a secret is refused', async () => {
    const { publicKey } = pairOf('RS256');
    const pem = await exportSPKI(publicKey);
    const jwk = await exportJWK(publicKey);
    const der = createPublicKey(pem).export({ type: 'spki', format: 'der' });
    for (const key of [
      Buffer.from(pem),
      Buffer.from(pem.trim()),
      der,
      Buffer.from(String(jwk.n), 'base64url'),
    ]) {
      for (const kid of [undefined, 'RS256']) {
        const header = { alg: 'HS256', ...(kid ? { kid } : {}) };
        const token = await new SignJWT(claims).setProtectedHeader(header).sign(key);
        expect(await codeOf(token, auth)).toBe('unauthenticated');
      }
    }
  });

  test('the shared secret of another installation signs nothing here', async () => {
    expect(await codeOf(await hmac(claims), auth)).toBe('unauthenticated');
  });

  test('an unsigned token is refused', async () => {
    expect(await codeOf(new UnsecuredJWT(claims).encode(), auth)).toBe('unauthenticated');
  });

  test('a stranger may neither borrow a key id nor bring a key along', async () => {
    const { privateKey } = pairOf('stranger');
    const jwk = await exportJWK(pairOf('stranger').publicKey);
    for (const more of [
      { kid: 'RS256' },
      { kid: 'unknown' },
      { jwk },
      { jku: `${auth.jwksUrl}?mine` },
    ]) {
      const header = { alg: 'RS256', ...more };
      const token = await new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
      expect(await codeOf(token, auth)).toBe('unauthenticated');
    }
  });

  test('a key of one kind does not verify another algorithm', async () => {
    const [header, payload, signature] = (await sign(claims, 'ES256')).split('.');
    const other = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'ES256' })).toString('base64url');
    expect(await codeOf(`${other}.${payload}.${signature}`, auth)).toBe('unauthenticated');
    expect(header).not.toBe(other);
  });

  test.each<[string, Record<string, unknown>]>([
    ['expired', { exp: seconds - 60 }],
    ['without exp', { exp: undefined }],
    ['of another issuer', { iss: 'https://evil.example.com' }],
    ['for another audience', { aud: 'another-service' }],
  ])('a well signed token %s is refused', async (_, changes) => {
    expect(await codeOf(await sign(withClaims(changes), 'ES256'), auth)).toBe('unauthenticated');
  });

  test.each([
    ['an error', 500, '{}'],
    ['a redirect', 302, '{}'],
    ['no JSON', 200, '<html>'],
    ['no key set', 200, '{"keys":"none"}'],
  ])('while the key set is %s, tokens get 503; one a second reads it', async (_, status, body) => {
    const check = authenticator(auth);
    const token = await sign(claims, 'RS256');
    const [good, before] = [answer, requests];
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      answer = { status, body };
      for (let calls = 0; calls < 5; calls++) {
        await expect(check(token)).rejects.toMatchObject({ code: 'unavailable' });
      }
      expect(requests - before).toBe(1);
      answer = good;
      vi.advanceTimersByTime(1_000);
      expect((await check(token)).id).toBe(person);
    } finally {
      vi.useRealTimers();
      answer = good;
    }
  });

  test('a key set of at most 1 MiB is read, of a larger one no token is checked', async () => {
    const good = answer;
    const token = await sign(claims, 'RS256');
    const padded = (bytes: number) => ({ status: 200, body: good.body.padEnd(bytes) });
    try {
      answer = padded(2 ** 20 + 1);
      await expect(authenticate(token, auth)).rejects.toMatchObject({ code: 'unavailable' });
      answer = padded(2 ** 20);
      expect((await authenticate(token, auth)).id).toBe(person);
    } finally {
      answer = good;
    }
  });

  test('while the key set is not answered, tokens get 503 with Retry-After', async () => {
    const unused = createServer();
    await new Promise<void>((listening) => unused.listen(0, '127.0.0.1', listening));
    const { port } = unused.address() as AddressInfo;
    await new Promise((closed) => unused.close(closed));
    const away = { ...auth, jwksUrl: `http://127.0.0.1:${port}/jwks.json` };
    const error = await authenticate(await sign(claims, 'RS256'), away).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'unavailable', headers: { 'retry-after': '1' } });
    // An algorithm that is never accepted does not make the service ask.
    expect(await codeOf(await hmac(claims), away)).toBe('unauthenticated');
  });

  test('a rotated key set is read again for a new key id, but at most every half minute', async () => {
    const check = authenticator(auth);
    const rotated = await sign(claims, 'ES256');
    const good = answer;
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now });
    try {
      answer = { status: 200, body: await keySet('RS256') };
      await check(await sign(claims, 'RS256'));
      answer = good;
      const before = requests;
      await expect(check(rotated)).rejects.toMatchObject({ code: 'unauthenticated' });
      expect(requests).toBe(before);
      vi.advanceTimersByTime(31_000);
      expect((await check(rotated)).id).toBe(person);
    } finally {
      vi.useRealTimers();
      answer = good;
    }
  });
});
