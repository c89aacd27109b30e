import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { type Config, type Environment, readConfig } from './config.ts';

const secret = 's3cr3t-that-nobody-else-may-ever-read';
const databaseUrl = `postgres://app:${secret}@db.example.com/indelible`;
const outside = { HOST: '0.0.0.0', PUBLIC_URL: 'https://audit.example.com', METRICS_TOKEN: secret };
const jwks = { AUTH_JWKS_URL: 'https://id.example.com/keys' };

test('nothing needs to be set: the service is for this machine alone, on its own database', () => {
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    publicUrl: null,
    databaseUrl: null,
    databaseOwnerUrl: null,
    databasePoolerUrl: null,
    databasePoolSize: 10,
    dataDir: resolve('data'),
    platformApiKeys: [],
    auth: { jwksUrl: null, jwtSecret: null, issuer: null, audience: null, operatorIssuer: null },
    sessionSecret: null,
    maskedKeys: [],
    backdatedMs: 86_400_000,
    trustProxy: false,
    metricsToken: null,
    logLevel: 'info',
    objectStoreUrl: pathToFileURL(resolve('data/objects')).href,
    smtpUrl: null,
    mailFrom: 'Indelible <indelible@localhost>',
    frameAncestors: [],
    hostSignInUrl: null,
    webhookAllowPrivate: false,
    queueBytesMax: 64 * 2 ** 20,
    bodyBytesMax: 64 * 2 ** 20,
    roomWaitMs: 10_000,
    connectionsMax: 4_000,
    strangerBodyMs: 5_000,
    exportsSentMax: 32,
    exportsUnfinishedMax: 20,
    exportBytesMax: 20 * 2 ** 30,
    diskBytesMin: 2 ** 30,
  });
  expect(readConfig({}).auth.claims).toEqual({
    sub: 'sub',
    email: 'email',
    role: 'role',
    tenantId: 'tenantId',
  });
});

const accepted: [env: Environment, expected: Partial<Config>][] = [
  [outside, { host: '0.0.0.0', publicUrl: 'https://audit.example.com', metricsToken: secret }],
  [{ HOST: 'localhost' }, { host: 'localhost' }],
  [{ HOST: '::1' }, { host: '::1' }],
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '65535' }, { port: 65_535 }],
  [{ PUBLIC_URL: 'http://localhost:8080/audit/' }, { publicUrl: 'http://localhost:8080/audit' }],
  [
    { DATABASE_URL: databaseUrl, PLATFORM_API_KEY: secret, DATABASE_OWNER_URL: databaseUrl },
    { databaseUrl, databaseOwnerUrl: databaseUrl },
  ],
  [{ DATABASE_POOL_SIZE: '2' }, { databasePoolSize: 2 }],
  [{ DATABASE_POOL_SIZE: '500' }, { databasePoolSize: 500 }],
  [{ DATA_DIR: 'elsewhere/data' }, { dataDir: resolve('elsewhere/data') }],
  [
    { PLATFORM_API_KEY: `${secret}-old, ${secret}-new` },
    { platformApiKeys: [`${secret}-old`, `${secret}-new`] },
  ],
  [{ SESSION_SECRET: secret }, { sessionSecret: secret }],
  [{ MASKED_KEYS: 'iban, pin' }, { maskedKeys: ['iban', 'pin'] }],
  [{ BACKDATED_HOURS: '1' }, { backdatedMs: 3_600_000 }],
  [{ SOURCE_SILENT_HOURS: '2' }, { sourceSilentMs: 7_200_000 }],
  [{ TRUST_PROXY: '10.0.0.0/8, ::1, loopback' }, { trustProxy: ['10.0.0.0/8', '::1', 'loopback'] }],
  [{ METRICS_TOKEN: secret }, { metricsToken: secret }],
  [{ LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  [
    { DATA_DIR: '/srv/audit data' },
    { dataDir: '/srv/audit data', objectStoreUrl: 'file:///srv/audit%20data/objects' },
  ],
  [{ OBJECT_STORE_URL: 'file:///srv/objects/' }, { objectStoreUrl: 'file:///srv/objects' }],
  [
    { OBJECT_STORE_URL: 's3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1' },
    { objectStoreUrl: 's3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1' },
  ],
  [
    { SMTP_URL: `smtp://user:${secret}@mail.example.com` },
    { smtpUrl: `smtp://user:${secret}@mail.example.com` },
  ],
  [{ SMTP_URL: 'smtps://mail.example.com:465/' }, { smtpUrl: 'smtps://mail.example.com:465' }],
  [{ MAIL_FROM: ' Audit <audit@example.com> ' }, { mailFrom: 'Audit <audit@example.com>' }],
  [{ FRAME_ANCESTORS: "'none'" }, { frameAncestors: [] }],
  [
    { FRAME_ANCESTORS: "'self' https://app.example.com, http://localhost:8080" },
    { frameAncestors: ["'self'", 'https://app.example.com', 'http://localhost:8080'] },
  ],
  [{ WEBHOOK_ALLOW_PRIVATE: 'true' }, { webhookAllowPrivate: true }],
  [{ WEBHOOK_ALLOW_PRIVATE: 'false' }, { webhookAllowPrivate: false }],
  [{}, { archiveIntervalMs: 86_400_000 }],
  [{ ARCHIVE_INTERVAL: '90m' }, { archiveIntervalMs: 5_400_000 }],
  [{ ARCHIVE_INTERVAL: 'off' }, { archiveIntervalMs: null }],
];

test.each(accepted)('%o is taken as it is meant', (env, expected) => {
  expect(readConfig(env)).toMatchObject(expected);
});

test('tokens are checked by a key set or by a secret, with the claims named as they are', () => {
  const byKeySet = { ...jwks, AUTH_ISSUER: 'https://id.example.com', AUTH_AUDIENCE: 'indelible' };
  expect(readConfig({ ...byKeySet, AUTH_OPERATOR_ISSUER: 'ops' }).auth).toMatchObject({
    jwksUrl: 'https://id.example.com/keys',
    issuer: 'https://id.example.com',
    audience: 'indelible',
    operatorIssuer: 'ops',
  });
  const claims = { AUTH_CLAIM_SUB: 'uid', AUTH_CLAIM_EMAIL: 'mail' };
  const more = { AUTH_CLAIM_ROLE: 'kind', AUTH_CLAIM_TENANT_ID: 'org' };
  expect(readConfig({ AUTH_JWT_SECRET: secret, ...claims, ...more }).auth).toMatchObject({
    jwtSecret: secret,
    claims: { sub: 'uid', email: 'mail', role: 'kind', tenantId: 'org' },
  });
});

test('a number of trusted hops trusts exactly the nearest ones', () => {
  const { trustProxy } = readConfig({ TRUST_PROXY: '2' });
  if (typeof trustProxy !== 'function') throw new Error('not a number of hops');
  expect([0, 1, 2, 3].map((hop) => trustProxy('203.0.113.7', hop))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('a secret is read from the file that its variable with _FILE names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-secrets-'));
  const fileOf = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const env = {
    DATABASE_URL_FILE: fileOf('database', `${databaseUrl}\n`),
    DATABASE_OWNER_URL_FILE: fileOf('owner', databaseUrl),
    DATABASE_POOLER_URL_FILE: fileOf('pooler', databaseUrl),
    PLATFORM_API_KEY_FILE: fileOf('keys', `${secret}-old,${secret}-new\n`),
    AUTH_JWT_SECRET_FILE: fileOf('jwt', secret),
    SESSION_SECRET_FILE: fileOf('session', secret),
    SMTP_URL_FILE: fileOf('smtp', `smtp://user:${secret}@mail.example.com\n`),
    METRICS_TOKEN_FILE: fileOf('metrics', secret),
  };
  expect(readConfig(env)).toMatchObject({
    databaseUrl,
    databaseOwnerUrl: databaseUrl,
    databasePoolerUrl: databaseUrl,
    platformApiKeys: [`${secret}-old`, `${secret}-new`],
    auth: { jwtSecret: secret },
    sessionSecret: secret,
    smtpUrl: `smtp://user:${secret}@mail.example.com`,
    metricsToken: secret,
  });
  const empty = { SESSION_SECRET_FILE: fileOf('empty', '\n') };
  expect(() => readConfig(empty)).toThrow(/^SESSION_SECRET_FILE .*empty: the file is empty$/);
});

test('an empty variable counts as absent', () => {
  const names = [
    ...['HOST', 'PORT', 'PUBLIC_URL', 'DATABASE_URL', 'DATABASE_OWNER_URL', 'DATA_DIR'],
    ...['DATABASE_POOL_SIZE', 'PLATFORM_API_KEY', 'SESSION_SECRET', 'MASKED_KEYS', 'LOG_LEVEL'],
    ...[...['CATALOGUE_FILE', 'TRUST_PROXY'], ...['METRICS_TOKEN', 'AUTH_ISSUER']],
    ...['AUTH_JWKS_URL', 'AUTH_JWT_SECRET', 'AUTH_AUDIENCE', 'AUTH_OPERATOR_ISSUER'],
    ...['AUTH_CLAIM_SUB', 'AUTH_CLAIM_EMAIL', 'AUTH_CLAIM_ROLE', 'AUTH_CLAIM_TENANT_ID'],
    ...['OBJECT_STORE_URL', 'SMTP_URL', 'MAIL_FROM', 'FRAME_ANCESTORS', 'WEBHOOK_ALLOW_PRIVATE'],
    ...['HOST_SIGN_IN_URL'],
  ];
  for (const blank of ['', '  ']) {
    const env = Object.fromEntries(names.map((name) => [name, blank]));
    expect(readConfig(env)).toEqual(readConfig({}));
  }
});

test('a configuration that was read can no longer be changed', () => {
  expect(Object.isFrozen(readConfig({}))).toBe(true);
});

const refused: [env: Environment, named: string][] = [
  [{ PORT: 'http' }, 'PORT'],
  [{ DATA_DIR: '/proc/audit/data' }, 'DATA_DIR'],
  [{ CATALOGUE_FILE: '/nowhere.json' }, 'CATALOGUE_FILE /nowhere.json'],
  [{ CATALOGUE_FILE: '/dev/zero' }, 'CATALOGUE_FILE /dev/zero: the file is larger than 1 MiB'],
  [{ PORT: '-1' }, 'PORT'],
  [{ PORT: '65536' }, 'PORT'],
  [{ PORT: '80.5' }, 'PORT'],
  [{ PUBLIC_URL: 'audit.example.com' }, 'PUBLIC_URL'],
  [{ PUBLIC_URL: 'ftp://audit.example.com' }, 'PUBLIC_URL'],
  [
    { DATABASE_URL: `mysql://app:${secret}@db/indelible`, PLATFORM_API_KEY: secret },
    'DATABASE_URL',
  ],
  [{ DATABASE_URL: `app:${secret}@db`, PLATFORM_API_KEY: secret }, 'DATABASE_URL'],
  [{ DATABASE_URL: databaseUrl }, 'PLATFORM_API_KEY'],
  [{ DATABASE_OWNER_URL: databaseUrl }, 'DATABASE_URL'],
  [{ DATABASE_POOLER_URL: databaseUrl }, 'DATABASE_URL'],
  [{ DATABASE_OWNER_URL: secret, DATABASE_URL: databaseUrl }, 'DATABASE_OWNER_URL'],
  [{ DATABASE_POOL_SIZE: '1' }, 'DATABASE_POOL_SIZE'],
  [{ DATABASE_POOL_SIZE: '501' }, 'DATABASE_POOL_SIZE'],
  [{ PLATFORM_API_KEY: secret.slice(0, 31) }, 'PLATFORM_API_KEY'],
  [{ PLATFORM_API_KEY: `${secret},${secret.slice(0, 31)}` }, 'PLATFORM_API_KEY'],
  [{ PLATFORM_API_KEY: `${secret},${secret},${secret}` }, 'PLATFORM_API_KEY'],
  [{ AUTH_JWT_SECRET: secret.slice(0, 31) }, 'AUTH_JWT_SECRET'],
  [{ AUTH_JWKS_URL: secret }, 'AUTH_JWKS_URL'],
  [{ ...jwks, AUTH_ISSUER: 'https://id.example.com' }, 'AUTH_AUDIENCE'],
  [
    { AUTH_JWKS_URL: 'http://id.example.com/keys', AUTH_ISSUER: 'i', AUTH_AUDIENCE: 'a' },
    'AUTH_JWKS_URL must start with https://',
  ],
  [{ ...jwks, AUTH_AUDIENCE: 'indelible' }, 'AUTH_ISSUER'],
  [
    { ...jwks, AUTH_ISSUER: 'i', AUTH_AUDIENCE: 'a', AUTH_JWT_SECRET: secret },
    'either AUTH_JWKS_URL or AUTH_JWT_SECRET',
  ],
  [{ SESSION_SECRET: secret.slice(0, 31) }, 'SESSION_SECRET'],
  [{ SESSION_SECRET_FILE: '/nowhere' }, 'SESSION_SECRET_FILE /nowhere'],
  [{ SMTP_URL_FILE: '/dev/zero' }, 'SMTP_URL_FILE /dev/zero: the file is larger than 1 MiB'],
  [
    { SESSION_SECRET: secret, SESSION_SECRET_FILE: '/nowhere' },
    'either SESSION_SECRET or SESSION_SECRET_FILE',
  ],
  [{ BACKDATED_HOURS: '0' }, 'BACKDATED_HOURS'],
  [{ BACKDATED_HOURS: 'none' }, 'BACKDATED_HOURS'],
  [{ TRUST_PROXY: 'proxy.example.com' }, 'TRUST_PROXY'],
  [{ TRUST_PROXY: '10.0.0.0/33' }, 'TRUST_PROXY'],
  [{ TRUST_PROXY: 'true' }, 'TRUST_PROXY'],
  [{ LOG_LEVEL: 'verbose' }, 'LOG_LEVEL'],
  [{ OBJECT_STORE_URL: `gs://${secret}/prefix` }, 'OBJECT_STORE_URL'],
  [{ OBJECT_STORE_URL: `/srv/${secret}` }, 'OBJECT_STORE_URL'],
  [{ SMTP_URL: `https://user:${secret}@mail.example.com` }, 'SMTP_URL'],
  [{ SMTP_URL: secret }, 'SMTP_URL'],
  [{ OPERATOR_DIGEST_EMAILS: 'olga;ben@example.com' }, 'OPERATOR_DIGEST_EMAILS'],
  [{ FRAME_ANCESTORS: 'https://app.example.com/path' }, 'FRAME_ANCESTORS'],
  [{ FRAME_ANCESTORS: 'app.example.com' }, 'FRAME_ANCESTORS'],
  [{ HOST_SIGN_IN_URL: 'javascript:alert(1)' }, 'HOST_SIGN_IN_URL'],
  [{ HOST_SIGN_IN_URL: '/sign-in' }, 'HOST_SIGN_IN_URL'],
  [{ FRAME_ANCESTORS: "'none' https://app.example.com" }, 'FRAME_ANCESTORS'],
  [{ FRAME_ANCESTORS: "https://app.example.com; script-src 'unsafe-inline'" }, 'FRAME_ANCESTORS'],
  [{ FRAME_ANCESTORS: '*' }, 'FRAME_ANCESTORS'],
  [{ FRAME_ANCESTORS: 'https://*.example.com' }, 'FRAME_ANCESTORS'],
  [{ WEBHOOK_ALLOW_PRIVATE: 'yes' }, 'WEBHOOK_ALLOW_PRIVATE'],
  [{ WEBHOOK_ALLOW_PRIVATE: '1' }, 'WEBHOOK_ALLOW_PRIVATE'],
  [{ ARCHIVE_INTERVAL: '0h' }, 'ARCHIVE_INTERVAL'],
  [{ ARCHIVE_INTERVAL: 'daily' }, 'ARCHIVE_INTERVAL'],
  [{ ARCHIVE_INTERVAL: '745h' }, 'ARCHIVE_INTERVAL'],
  [{ ...outside, PUBLIC_URL: undefined }, 'PUBLIC_URL'],
  [{ ...outside, PUBLIC_URL: 'http://audit.example.com' }, 'PUBLIC_URL'],
  [{ ...outside, METRICS_TOKEN: undefined }, 'METRICS_TOKEN'],
  [{ PUBLIC_URL: 'https://audit.example.com' }, 'METRICS_TOKEN'],
];

test.each(refused)(
  '%o is refused in a sentence that names %s, without its secrets',
  (env, named) => {
    let sentence = '';
    try {
      readConfig(env);
    } catch (error) {
      sentence = error instanceof Error ? error.message : String(error);
    }
    expect(sentence).toContain(named);
    expect(sentence).not.toContain(secret.slice(0, 31));
  },
);
