import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../json/canonical.ts';
import { createMasker } from './masking.ts';
import type { Diff } from './state-diff.ts';

const masker = createMasker();
const masksKey = (key: string, using = masker) => using.maskState({ [key]: 'value' }).masked;
const masksField = (path: string, using = masker) =>
  using.maskDiff({ [path]: { from: 'old', to: 'new' } }).masked;

test('a key is secret in every usual spelling and with any prefix', () => {
  const secret = [
    ...['password', 'PASSWORD', 'newPassword', 'sip_password', 'admin-pass.word', 'api key'],
    ...['APIKey', 'APIkey', 'PASSWORDold', 'userpasswordhash', 'PINs'],
  ];
  const more = [
    ...['x-api-key', 'Authorization', 'Set-Cookie', 'client_secret', 'OAuthAccessToken', 'PIN'],
  ];
  for (const key of [...secret, ...more]) expect([key, masksKey(key)]).toEqual([key, true]);
});

test('a key is secret in every form of its letters, and with characters that are not seen', () => {
  const secret = [
    ...['ｐａｓｓｗｏｒｄ', 'pass\u200bword', 'pass\u00adword', 'Pàssword', 'PAſſWORD', 'PİN'],
  ];
  for (const key of secret)
    expect([key, masksKey(key), masksField(key)]).toEqual([key, true, true]);
  const own = createMasker(['contraseña'.normalize('NFC')]);
  expect(masksKey('nuevaContraseña'.normalize('NFD'), own)).toBe(true);
});

test('a key that holds the letters of a secret name but not its word is left alone', () => {
  const plain = [
    ...['tokenizer', 'passwordPolicy', 'maxTokens', 'pinned', 'secretary', 'key', 'name', ''],
    ...['spin', 'headspin', 'mapPin', 'passwordless', 'compass', 'authorizationStatus'],
  ];
  for (const key of plain) expect([key, masksKey(key)]).toEqual([key, false]);
});

test('a text under pass, auth or tokens is secret, a group of settings is not', () => {
  for (const key of ['pass', 'AUTH', 'tokens', 'password2', 'private_key_pem', 'sip_password2']) {
    expect([key, masksKey(key)]).toEqual([key, true]);
    expect([key, masksField(`trunk.${key}`)]).toEqual([key, true]);
  }
  const lists = { user: { tokens: ['a', null] } };
  expect(masker.maskState(lists).value).toEqual({ user: { tokens: '[masked]' } });
  expect(JSON.stringify(masker.diffStates({ user: { tokens: [] } }, lists))).not.toContain('"a"');
  for (const path of ['user.tokens.0', 'tokens.1.0']) expect(masksField(path)).toBe(true);
  for (const path of ['0.1', '.0', '', '0', '.']) expect(masksField(path)).toBe(false);
  for (const key of ['bypass', 'compass', 'oauthTokens2fa', 'basicAuthRealmName']) {
    expect([key, masksKey(key)]).toEqual([key, false]);
  }
  expect(masker.maskState({ auth: { method: 'basic' }, tokens: 4_096 }).masked).toBe(false);
});

test('a value beside a name that is secret is masked, one beside another name is not', () => {
  const state = [
    { name: 'Authorization', value: 'Basic YTpi' },
    { header: 'x-api-key', value: 'abc' },
    { Key: 'password', Value: 'abc' },
    { name: 'Accept', value: 'text/html' },
    { name: 'password' },
  ];
  expect(masker.maskState(state).value).toEqual([
    { name: 'Authorization', value: '[masked]' },
    { header: 'x-api-key', value: '[masked]' },
    { Key: 'password', Value: '[masked]' },
    { name: 'Accept', value: 'text/html' },
    { name: 'password' },
  ]);
  const { diff } = masker.maskDiff({
    'headers.0.name': { from: null, to: 'Authorization' },
    'headers.0.value': { from: null, to: 'Basic YTpi' },
    'headers[Authorization].value': { from: null, to: 'Basic YTpi' },
    'headers[Authorization].kind': { from: null, to: 'request' },
    'headers.1.value': { from: null, to: 'text/html' },
  });
  expect(Object.values(diff).map(({ to }) => to)).toEqual([
    ...['Authorization', '[masked]', '[masked]', 'request', 'text/html'],
  ]);
});

test('an element of a list that is named like a secret is shown, unless the list is one of secrets', () => {
  const before = { scopes: ['read'], features: [{ key: 'reset_password', level: 'low' }] };
  const after = {
    scopes: ['read', 'read_secrets'],
    features: [{ ...before.features[0], level: 'top' }],
  };
  expect(masker.diffStates(before, after).diff).toEqual({
    'features[reset_password].level': { from: 'low', to: 'top' },
    'scopes[read_secrets]': { from: null, to: 'read_secrets' },
  });
  const given = {
    'tokens[abc]': { from: null, to: 'abc' },
    'user[pin]': { from: null, to: 'abc' },
  };
  expect(Object.values(masker.maskDiff(given).diff).map(({ to }) => to)).toEqual([
    ...['[masked]', '[masked]'],
  ]);
});

// Assembled, so that no scanner takes this file for a leak.
const inert = 'x7'.repeat(12);
const secretTexts = [
  `-----BEGIN RSA PRIVATE KEY-----\n${inert}`,
  `eyJ${inert}.eyJ${inert}.${inert}`,
  `Bearer eyJ${inert}.eyJ${inert}.`,
  ...['sk_live_', 'ghp_', 'github_pat_', 'glpat-', 'xoxb-', 'sk-proj-', 'whsec_', 'idl_'].map(
    (prefix) => prefix + inert,
  ),
  `AKIA${'A1'.repeat(8)}`,
];

test('a private key, a JWT and a key with a known prefix are masked under any name', () => {
  for (const text of secretTexts) {
    expect([text, masker.maskState({ note: [text] }).masked]).toEqual([text, true]);
    const { diff } = masker.maskDiff({ note: { from: text, to: 'plain' } });
    expect(diff).toEqual({ note: { from: '[masked]', to: 'plain' } });
  }
});

test('texts that only look a little like keys are kept', () => {
  const plain = [
    '-----BEGIN CERTIFICATE-----\nabc',
    'eyJhbGciOi',
    'sk_live_',
    'task-force-one-two',
  ];
  for (const text of [
    ...plain,
    'sk-learn-in-many-words',
    'AKIAN street',
    'npm_config_registry_of_us',
    'SG. Flensburg e. V. 08',
  ]) {
    expect([text, masker.maskState({ note: text }).masked]).toEqual([text, false]);
  }
});

test('a secret value is replaced whole at any depth, and null stays null', () => {
  const state = {
    name: 'trunk',
    auth: [
      { user: 'a', password: { kind: 'hash', salt: 'x' } },
      { token: null, apiKey: 7 },
    ],
    secrets: ['a', 'b'],
  };
  expect(masker.maskState(state)).toEqual({
    value: {
      name: 'trunk',
      auth: [
        { user: 'a', password: '[masked]' },
        { token: null, apiKey: '[masked]' },
      ],
      secrets: '[masked]',
    },
    masked: true,
  });
  expect(state.auth[0]?.password).toEqual({ kind: 'hash', salt: 'x' });
});

test('a value without a secret is given back itself, not a copy', () => {
  const state = { a: [{ b: 1 }], token: null, password: '[masked]' };
  const { value, masked } = masker.maskState(state);
  expect(value).toBe(state);
  expect(masked).toBe(false);
  const diff: Diff = { a: { from: 1, to: 2 }, token: { from: null, to: null } };
  expect(masker.maskDiff(diff).diff).toBe(diff);
});

test('the value of a resource that is a secret by its type or name is masked, in every form', () => {
  const state = { value: 's3cret', version: 2, history: [{ Value: 's3cret-0' }] };
  const masked = { value: '[masked]', version: 2, history: [{ Value: '[masked]' }] };
  for (const owner of [{ type: 'secret' }, { type: 'env_var', name: 'STRIPE_API_KEY' }]) {
    expect(masker.maskState(state, owner).value).toEqual(masked);
    const diff = masker.diffStates(state, { ...state, value: 'other' }, owner);
    expect(diff.diff).toEqual({ value: { from: '[masked]', to: '[masked]' } });
    const change = { from: null, to: 's3cret' };
    expect(
      JSON.stringify(masker.maskDiff({ value: change, 'a[0].value': change }, owner)),
    ).not.toContain('s3cret');
  }
  for (const owner of [{ type: 'setting', name: 'Password policy' }, {}, { name: null }]) {
    expect(masker.maskState(state, owner).masked).toBe(false);
  }
});

test('a key below a group is as secret in a state as its dotted path is in a diff', () => {
  expect(masker.maskState({ api: { key: 'x', url: 'y' } }).value).toEqual({
    api: { key: '[masked]', url: 'y' },
  });
  expect(masksField('api.key')).toBe(true);
});

test('untouched parts of a masked state are shared with the original', () => {
  const state = { plain: { list: [1] }, login: { password: 'x' } };
  const value = masker.maskState(state).value as typeof state;
  expect(value.plain).toBe(state.plain);
  expect(value.login).toEqual({ password: '[masked]' });
});

test('a diff field is secret by any of its segments, and both sides are masked', () => {
  const diff: Diff = {
    'users.0.sipPassword': { from: 'a', to: 'b' },
    'credentials.0.user': { from: null, to: 'me' },
    'tokenizer.size': { from: 1, to: 2 },
  };
  expect(masker.maskDiff(diff)).toEqual({
    diff: {
      'users.0.sipPassword': { from: '[masked]', to: '[masked]' },
      'credentials.0.user': { from: null, to: '[masked]' },
      'tokenizer.size': { from: 1, to: 2 },
    },
    masked: true,
  });
});

test('a key with dots is as secret in the diff as in the state, above other fields too', () => {
  for (const path of ['api.key', 'x.api.key', 'api.key.value', 'user[api][key]']) {
    expect([path, masksField(path)]).toEqual([path, true]);
  }
  expect(masksKey('api.key')).toBe(true);
  expect(masksField('api.keyring')).toBe(false);
});

test('every field below a key that a state masks is masked in the diff', () => {
  const segment = fc.constantFrom('a', 'api.key', 'new_token', 'Pass-Word', 'b.c', 'secret', '0');
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (path) => {
      const state = path.reduceRight<JsonValue>((inner, key) => ({ [key]: inner }), 'value');
      if (masker.maskState(state).masked) expect(masksField(path.join('.'))).toBe(true);
    }),
  );
});

test('a diff hides what a state hides, also beside a name, and tells that it changed', () => {
  const header = (name: string, value: JsonValue) => ({
    headers: [
      { name: 'Accept', value: 'a' },
      { name, value },
    ],
  });
  const diffOf = (before: JsonObject, after: JsonObject) => masker.diffStates(before, after).diff;
  expect(diffOf(header('Authorization', 'one'), header('Authorization', 'two'))).toEqual({
    'headers[Authorization].value': { from: '[masked]', to: '[masked]' },
  });
  expect(diffOf(header('Authorization', { a: 'one' }), header('Cookie', null))).toEqual({
    'headers[Authorization]': { from: 'Authorization', to: null },
    'headers[Authorization].value': { from: '[masked]', to: null },
    'headers[Cookie]': { from: null, to: 'Cookie' },
  });
  expect(diffOf(header('Authorization', 'one'), header('Authorization', 'one'))).toEqual({});
  expect(diffOf({ password: ['one', 'two'] }, { password: ['two'] })).toEqual({
    password: { from: '[masked]', to: '[masked]' },
  });
});

test('no text of a hidden value is in the diff, wherever it is hidden', () => {
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonValue>('SECRET', 'x', 1, null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('name', 'value', 'token', 'a', 'key'), tie('value')),
      fc.record({ name: fc.constantFrom('Authorization', 'a'), value: tie('value') }),
    ),
  })).value as fc.Arbitrary<JsonValue>;
  fc.assert(
    fc.property(value, value, (list, other) => {
      const states = [{ list }, { list: other }] as const;
      const stored = states.map((state) => JSON.stringify(masker.maskState(state).value));
      if (stored.some((text) => text.includes('SECRET'))) return;
      expect(JSON.stringify(masker.diffStates(...states).diff)).not.toContain('SECRET');
    }),
    { numRuns: 300 },
  );
});

test('configured names are compared by their letters, and those without letters are ignored', () => {
  const custom = createMasker(['Sort.Code', '$(', '', '_', 'Straße']);
  for (const key of ['sort_code', 'mySortCode', 'sortcode', 'bank[sort][code]', 'STRAßE']) {
    expect([key, masksKey(key, custom)]).toEqual([key, true]);
  }
  expect(masksKey('anything', custom)).toBe(false);
  expect(masksField('bank.sort.code', custom)).toBe(true);
  expect(custom.maskState({ sortCode: false }).masked).toBe(true);
  expect(custom.maskState({ sortCodeRequired: 'no' }).masked).toBe(false);
  expect(masksField('', createMasker(['_']))).toBe(false);
});

test('__proto__ is masked and kept as an ordinary member', () => {
  const proto = createMasker(['proto', 'constructor']);
  const state = JSON.parse('{"__proto__":{"a":1},"constructor":"x","b":2}') as JsonValue;
  expect(JSON.stringify(proto.maskState(state).value)).toBe(
    '{"__proto__":"[masked]","constructor":"[masked]","b":2}',
  );
  const diff = JSON.parse('{"__proto__":{"from":1,"to":null}}') as Diff;
  expect(JSON.stringify(proto.maskDiff(diff).diff)).toBe(
    '{"__proto__":{"from":"[masked]","to":null}}',
  );
});

test('decisions stay right after more keys than are remembered, and for very long keys', () => {
  const keys = Array.from({ length: 10_000 }, (_, i) => [`k${i}`, `k${i}token`]).flat();
  for (let round = 0; round < 2; round += 1) {
    expect(keys.filter((key) => masksKey(key))).toHaveLength(10_000);
  }
  const long = 'p.'.repeat(300_000);
  expect([masksField(long), masksField(`${long}password`), masksKey(long)]).toEqual([
    false,
    true,
    false,
  ]);
});
