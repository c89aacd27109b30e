import { createHash } from 'node:crypto';
import { scopes } from '@indelible/protocol';
import { expect, test } from 'vitest';
import type { AuthConfig } from '../config.ts';
import { hashSecretToken } from '../crypto/secret-token.ts';
import { AppError } from '../http/problem.ts';
import { createAuthenticator } from './auth.ts';
import { newApiKeyText } from './bearer.ts';
import type { StoredApiKey } from './principal.ts';

const noJwts: AuthConfig = {
  jwksUrl: null,
  jwtSecret: null,
  issuer: null,
  audience: null,
  operatorIssuer: null,
  claims: { sub: 'sub', email: 'email', role: 'role', tenantId: 'tenantId' },
};
const now = Date.UTC(2026, 5, 1);
const tenantId = '3f0c6d54-52c2-4c1c-9a56-6b6d1f6f4a01';
const platformKey = 'a bootstrap key of 32 characters'.replaceAll(' ', '-');
const otherPlatformKey = 'the-one-it-is-being-rotated-out-for';

/** A stored key, and what its holder would send. */
function makeKey(more: Partial<StoredApiKey> = {}) {
  const id = '0190f3a1-7b2c-7def-8123-456789abcdef';
  const text = newApiKeyText(id);
  const fixed = { id, tenantId, scopes: ['events:write'] as const, madeBy: null, allowedIps: null };
  const times = { expiresAtMs: null, revokedAtMs: null };
  const stored: StoredApiKey = { ...fixed, ...times, keyHash: hashSecretToken(text), ...more };
  return { text, stored, header: `Bearer ${text}` };
}

/** An authenticator over these stored keys, which a test may change, with a clock and a count. */
function authenticatorOf(...keys: StoredApiKey[]) {
  const uses: [string, number][] = [];
  const state = { now, lookups: 0, keys, uses };
  const { authenticate, forget } = createAuthenticator({
    auth: noJwts,
    platformApiKeys: [platformKey, otherPlatformKey],
    findApiKey: async (id) => {
      state.lookups += 1;
      return state.keys.find((key) => key.id === id) ?? null;
    },
    noteUse: async (id, nowMs) => void state.uses.push([id, nowMs]),
    now: () => state.now,
  });
  return { authenticate, forget, state };
}

async function refusalOf(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.catch((thrown: unknown) => thrown);
  if (!(error instanceof AppError)) throw new Error('was not refused');
  return error;
}

test('a stored key acts with its own id, tenant and scopes', async () => {
  const { stored, header } = makeKey();
  expect(await authenticatorOf(stored).authenticate(header)).toEqual({
    kind: 'api_key',
    id: stored.id,
    externalId: null,
    email: null,
    role: 'api_key',
    tenantId,
    scopes: new Set(['events:write']),
    recheckKeyId: stored.id,
    maker: null,
    agents: [],
    session: null,
  });
});

test('many first calls that record with a key read it once', async () => {
  const { stored, header } = makeKey();
  const { authenticate, state } = authenticatorOf(stored);
  await Promise.all(Array.from({ length: 600 }, () => authenticate(header, { cached: true })));
  expect(state.lookups).toBe(1);
  await Promise.all([authenticate(header), authenticate(header)]);
  expect(state.lookups).toBe(3);
});

test.each(['bearer', 'BEARER', 'Bearer '])('the scheme %j is understood', async (scheme) => {
  const { stored, text } = makeKey();
  const principal = await authenticatorOf(stored).authenticate(`${scheme} ${text}`);
  expect(principal.id).toBe(stored.id);
});

test.each([platformKey, otherPlatformKey])('each bootstrap key holds every scope', async (key) => {
  const { authenticate, state } = authenticatorOf();
  const principal = await authenticate(`Bearer ${key}`);
  expect(principal).toMatchObject({ kind: 'api_key', role: 'api_key', tenantId: null });
  expect(principal.recheckKeyId).toBeNull();
  expect([...principal.scopes]).toEqual([...scopes]);
  expect(state.lookups).toBe(0);
});

test('the id of a bootstrap key stays the same, differs by key, and is no plain hash of it', async () => {
  const idOf = async (key: string) => (await authenticatorOf().authenticate(`Bearer ${key}`)).id;
  const id = await idOf(platformKey);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(await idOf(platformKey)).toBe(id);
  expect(await idOf(otherPlatformKey)).not.toBe(id);
  const plain = createHash('sha256').update(platformKey).digest('hex');
  expect(plain.slice(0, 12)).not.toBe(id.replaceAll('-', '').slice(0, 12));
});

test('the refusal of a key is always the same and holds no part of it', async () => {
  const { stored, header, text } = makeKey();
  const stranger = makeKey();
  const attempts: [StoredApiKey[], string | undefined][] = [
    [[{ ...stored, revokedAtMs: now }], header],
    [[{ ...stored, expiresAtMs: now }], header],
    [[{ ...stored, expiresAtMs: now - 1 }], header],
    [[], header],
    [[stored], stranger.header],
    [[stored], `${header.slice(0, -1)}${header.endsWith('A') ? 'B' : 'A'}`],
    [[stored], header.slice(0, -1)],
    [[stored], `${header}A`],
    [[stored], header.toUpperCase().replace('BEARER', 'Bearer')],
    [[stored], `Basic ${text}`],
    [[stored], text],
    [[stored], `Bearer ${text} ${text}`],
    [[stored], `Bearer ${platformKey.slice(0, -1)}`],
    [[stored], `Bearer ${platformKey}x`],
    [[stored], 'Bearer '],
    [[stored], ''],
    [[stored], undefined],
  ];
  const { message: told } = await refusalOf(authenticatorOf().authenticate(undefined));
  expect(told).toContain('Send `Authorization: Bearer` with a complete API key');
  for (const [keys, authorization] of attempts) {
    const refusal = await refusalOf(authenticatorOf(...keys).authenticate(authorization));
    const { code, message, headers } = refusal;
    expect({ code, message, headers }, `for ${authorization}`).toEqual({
      code: 'unauthenticated',
      message: told,
      headers: { 'www-authenticate': 'Bearer' },
    });
  }
});

test('a key works until the very moment it expires', async () => {
  const { stored, header } = makeKey({ expiresAtMs: now + 1 });
  const { authenticate, state } = authenticatorOf(stored);
  await authenticate(header, { cached: true });
  state.now += 1;
  for (const cached of [true, false]) {
    expect((await refusalOf(authenticate(header, { cached }))).code).toBe('unauthenticated');
  }
});

test('only recording may answer from memory; everything else asks the database each time', async () => {
  const { stored, header } = makeKey();
  const { authenticate, state } = authenticatorOf(stored);
  await authenticate(header, { cached: true });
  await authenticate(header, { cached: true });
  expect(state.lookups).toBe(1);
  state.keys = [{ ...stored, revokedAtMs: now }];
  expect((await refusalOf(authenticate(header))).code).toBe('unauthenticated');
  expect(state.lookups).toBe(2);
});

test('a forgotten key is looked up again', async () => {
  const { stored, header } = makeKey();
  const { authenticate, forget, state } = authenticatorOf(stored);
  await authenticate(header, { cached: true });
  state.keys = [{ ...stored, revokedAtMs: now }];
  forget(stored.id);
  expect((await refusalOf(authenticate(header, { cached: true }))).code).toBe('unauthenticated');
});

test('a remembered key does not let in another secret with its id', async () => {
  const { stored, header } = makeKey();
  const { authenticate } = authenticatorOf(stored);
  await authenticate(header, { cached: true });
  const guess = `Bearer ${newApiKeyText(stored.id)}`;
  expect((await refusalOf(authenticate(guess, { cached: true }))).code).toBe('unauthenticated');
});

test('strangers with wrong secrets leave no trace in memory', async () => {
  const { stored, header } = makeKey();
  const { authenticate, state } = authenticatorOf(stored);
  const guess = `Bearer ${newApiKeyText(stored.id)}`;
  await refusalOf(authenticate(guess, { cached: true }));
  await refusalOf(authenticate(guess, { cached: true }));
  expect(state.lookups).toBe(2);
  expect((await authenticate(header, { cached: true })).id).toBe(stored.id);
});

test('memory is bounded: the keys used last stay in it, others are looked up again', async () => {
  const keys = Array.from({ length: 10_001 }, (_, n) => {
    const id = `0190f3a1-7b2c-7def-8123-${n.toString(16).padStart(12, '0')}`;
    const text = newApiKeyText(id);
    return { ...makeKey().stored, id, keyHash: hashSecretToken(text), header: `Bearer ${text}` };
  });
  const byId = new Map(keys.map((key) => [key.id, key]));
  let [lookups, notes] = [0, 0];
  const { authenticate } = createAuthenticator({
    auth: noJwts,
    platformApiKeys: [],
    noteUse: async () => void notes++,
    findApiKey: async (id) => {
      lookups += 1;
      return byId.get(id) ?? null;
    },
    now: () => now,
  });
  const [first, second, ...others] = keys.map(
    ({ header }) =>
      () =>
        authenticate(header, { cached: true }),
  );
  await first?.();
  await second?.();
  for (const other of others.slice(1)) await other();
  await first?.(); // used again: the second one is now the oldest
  await others[0]?.();
  expect([lookups, notes]).toEqual([10_001, 10_001]);
  await first?.();
  expect(lookups).toBe(10_001);
  await second?.(); // looked up again, but its use is not noted again
  expect([lookups, notes]).toEqual([10_002, 10_001]);
});

test('a database that is away is not mistaken for a wrong key', async () => {
  const { authenticate } = createAuthenticator({
    auth: noJwts,
    platformApiKeys: [],
    findApiKey: () => Promise.reject(new Error('Connection terminated')),
    noteUse: async () => {},
    now: () => now,
  });
  await expect(authenticate(makeKey().header)).rejects.toThrow('Connection terminated');
});
