import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  backdatedHoursDefault,
  type Catalogue,
  createCatalogue,
  defaultCatalogue,
  parseCatalogueFile,
} from '@indelible/protocol';
import ipaddr from 'ipaddr.js';
import { storeProtocols } from './objects/open-store.ts';
import { isMailAddress, loopback } from './outbound/outbound-url.ts';
import { readSmallFile } from './postgres/embedded/secret-file.ts';

/** Everything the environment decides, validated and frozen. See docs/configuration.md. */
export type Config = Readonly<ReturnType<typeof readSettings> & ReturnType<typeof readLimits>>;
export type AuthConfig = Readonly<ReturnType<typeof readAuth>>;
export type Environment = Readonly<Record<string, string | undefined>>;
type Reader = ReturnType<typeof reader>;

/**
 * The only reader of the environment. Throws an Error
 * whose message names the variable that is wrong.
 */
export function readConfig(env: Environment): Config {
  const read = reader(withSecrets(env));
  const config = { ...readSettings(read), ...readLimits(read) };
  requireConsistent(config);
  return Object.freeze(config);
}

const secrets = [
  ...['DATABASE_URL', 'DATABASE_POOLER_URL', 'DATABASE_OWNER_URL', 'PLATFORM_API_KEY'],
  ...['AUTH_JWT_SECRET', 'SESSION_SECRET', 'SMTP_URL', 'METRICS_TOKEN'],
];

/** The environment with each secret whose file `<name>_FILE` names. */
export function withSecrets(env: Environment): Environment {
  const read: Record<string, string> = {};
  for (const name of secrets) {
    const path = env[`${name}_FILE`]?.trim();
    if (!path) continue;
    if (env[name]?.trim()) throw new Error(`set either ${name} or ${name}_FILE, not both`);
    read[name] = readSecret(`${name}_FILE`, path);
    read[`${name}_FILE`] = '';
  }
  return { ...env, ...read };
}

function readSecret(variable: string, path: string): string {
  let text: string;
  try {
    text = readSmallFile(path).trim();
  } catch (cause) {
    const reason = cause instanceof RangeError ? cause.message : 'the file cannot be read';
    throw new Error(`${variable} ${path}: ${reason}`, { cause });
  }
  // Taken as absent, the service would start with a secret of its own.
  if (text === '') throw new Error(`${variable} ${path}: the file is empty`);
  return text;
}

const http = ['http:', 'https:'];
const postgres = ['postgres:', 'postgresql:'];
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'];

function readSettings(read: Reader) {
  const dataDir = resolve(read.text('DATA_DIR') ?? './data');
  return {
    host: read.text('HOST') ?? '127.0.0.1',
    port: read.integer('PORT', 3000, 0, 65_535),
    publicUrl: read.url('PUBLIC_URL', http),
    /** Serving login; null = the embedded PostgreSQL under `dataDir`. */
    databaseUrl: read.url('DATABASE_URL', postgres),
    /** PgBouncer in transaction mode, before the database of `databaseUrl`; null = none. */
    databasePoolerUrl: read.url('DATABASE_POOLER_URL', postgres),
    databaseOwnerUrl: read.url('DATABASE_OWNER_URL', postgres),
    databasePoolSize: read.integer('DATABASE_POOL_SIZE', 10, 2, 500),
    dataDir,
    platformApiKeys: read.list('PLATFORM_API_KEY'),
    auth: readAuth(read),
    sessionSecret: read.text('SESSION_SECRET'),
    maskedKeys: read.list('MASKED_KEYS'),
    catalogue: readCatalogue(read.text('CATALOGUE_FILE')),
    /** Events that happened longer before they are recorded come with a warning. */
    backdatedMs: read.integer('BACKDATED_HOURS', backdatedHoursDefault, 1, 87_600) * 3_600_000,
    /** A source that has sent nothing for longer counts as silent. */
    sourceSilentMs: read.integer('SOURCE_SILENT_HOURS', 24, 1, 8_760) * 3_600_000,
    /** Which peers may say whom they speak for: none, the nearest hops, or addresses and ranges. */
    trustProxy: readTrustProxy(read.list('TRUST_PROXY')),
    metricsToken: read.text('METRICS_TOKEN'),
    logLevel: read.choice('LOG_LEVEL', 'info', logLevels),
    /** Ed25519 key as PEM; null = made once under `dataDir`. */
    signingKeyFile: read.text('SIGNING_KEY_FILE'),
    /** Host part of the logs' origins; null = that of `publicUrl`. */
    logOrigin: readLogOrigin(read.text('LOG_ORIGIN')),
    objectStoreUrl:
      read.url('OBJECT_STORE_URL', storeProtocols) ?? pathToFileURL(join(dataDir, 'objects')).href,
    /** SMTP server; null = mail is written to `dataDir`/outbox. */
    smtpUrl: read.url('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: read.text('MAIL_FROM') ?? 'Indelible <indelible@localhost>',
    /** Who gets the weekly digest over all tenants; empty for none. */
    operatorDigestEmails: readEmails(read.list('OPERATOR_DIGEST_EMAILS')),
    /** Sources of CSP's `frame-ancestors`: who may embed the panel and hand over a token. */
    frameAncestors: readFrameAncestors(read.text('FRAME_ANCESTORS') ?? "'none'"),
    /** The host's page that signs a reader of the panel in; null = the panel names none. */
    hostSignInUrl: read.url('HOST_SIGN_IN_URL', http),
    /** Whether outbound calls may go to private addresses and over plain http. */
    webhookAllowPrivate:
      read.choice('WEBHOOK_ALLOW_PRIVATE', 'false', ['true', 'false']) === 'true',
    /** How often the service archives; null = never by itself. */
    archiveIntervalMs: readInterval(read.text('ARCHIVE_INTERVAL') ?? '24h'),
  };
}

/** The limits of room, time and number; tests set those that no variable sets. */
function readLimits(read: Reader) {
  return {
    /** Open ones, each of which takes a file descriptor; beyond, the longest idle one is closed. */
    connectionsMax: 4_000,
    queueBytesMax: 64 * 2 ** 20,
    /** The bytes of all bodies that arrive or are worked on, as announced: eight full batches. */
    bodyBytesMax: 64 * 2 ** 20,
    /** How long a call waits for room for its body or its events. */
    roomWaitMs: 10_000,
    /** The exports of all tenants that are sent with the answer: each may hold 8 MiB. */
    exportsSentMax: 32,
    /** Of one tenant: a worker makes one after the other, so more would only wait. */
    exportsUnfinishedMax: 20,
    /** Bytes of one tenant's files that are kept. */
    exportBytesMax: read.integer('EXPORTS_KEPT_GIB_MAX', 20, 1, 100_000) * 2 ** 30,
    /** With less free disk no export is made. */
    diskBytesMin: read.integer('DISK_FREE_MIB_MIN', 1_024, 0, 1_000_000) * 2 ** 20,
    /** In which a request, head and body, must have arrived. */
    requestMs: 45_000,
    /** In which a body without a credential must have arrived. */
    strangerBodyMs: 5_000,
    /**
     * In which a reader must take something of its answer. The system takes more only when a third
     * of its buffer of 4 MiB is free. Behind a proxy on the same machine that takes 70 s at 20
     * kB/s.
     */
    stalledMs: 180_000,
  };
}

/**
 * How JWTs are checked: by key set (asymmetric) or by shared secret (HS256); both null = no JWTs.
 */
function readAuth(read: Reader) {
  return {
    jwksUrl: read.url('AUTH_JWKS_URL', http),
    jwtSecret: read.text('AUTH_JWT_SECRET'),
    issuer: read.text('AUTH_ISSUER'),
    audience: read.text('AUTH_AUDIENCE'),
    operatorIssuer: read.text('AUTH_OPERATOR_ISSUER'),
    claims: {
      sub: read.text('AUTH_CLAIM_SUB') ?? 'sub',
      email: read.text('AUTH_CLAIM_EMAIL') ?? 'email',
      role: read.text('AUTH_CLAIM_ROLE') ?? 'role',
      tenantId: read.text('AUTH_CLAIM_TENANT_ID') ?? 'tenantId',
    },
  };
}

/** Typed access to single variables; an empty variable counts as absent. */
function reader(env: Environment) {
  const text = (name: string) => env[name]?.trim() || null;
  return {
    text,
    list: (name: string) =>
      (text(name) ?? '')
        .split(',')
        .map((s) => s.trim())
        .filter(Boolean),
    integer(name: string, fallback: number, min: number, max: number): number {
      const value = Number(text(name) ?? fallback);
      if (Number.isInteger(value) && value >= min && value <= max) return value;
      throw new Error(`${name} must be a whole number from ${min} to ${max}`);
    },
    choice(name: string, fallback: string, allowed: string[]): string {
      const value = text(name) ?? fallback;
      if (allowed.includes(value)) return value;
      throw new Error(`${name} must be one of ${allowed.join(', ')}`);
    },
    // The value itself never goes into the message: it may hold a password.
    url(name: string, protocols: string[]): string | null {
      const value = text(name);
      if (value === null) return null;
      if (URL.canParse(value) && protocols.includes(new URL(value).protocol))
        return value.replace(/\/$/, '');
      throw new Error(`${name} must be a URL that starts with ${protocols.join('// or ')}//`);
    },
  };
}

function readCatalogue(path: string | null): Catalogue {
  if (path === null) return defaultCatalogue;
  try {
    return createCatalogue(parseCatalogueFile(readSmallFile(path)));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`CATALOGUE_FILE ${path}: ${reason}`, { cause });
  }
}

function readEmails(emails: string[]): string[] {
  if (emails.every(isMailAddress)) return emails;
  throw new Error('OPERATOR_DIGEST_EMAILS must be e-mail addresses, separated by commas');
}

function readTrustProxy(
  values: string[],
): false | string[] | ((address: string, hop: number) => boolean) {
  if (values.length === 0) return false;
  const [first = ''] = values;
  if (values.length === 1 && /^\d{1,2}$/.test(first)) {
    const hops = Number(first);
    return (_address, hop) => hop < hops;
  }
  const named = ['loopback', 'linklocal', 'uniquelocal'];
  const wrong = values.find(
    (v) => !ipaddr.isValid(v) && !ipaddr.isValidCIDR(v) && !named.includes(v),
  );
  if (wrong !== undefined)
    throw new Error('TRUST_PROXY must be a number of hops, or addresses and CIDR ranges');
  return values;
}

const unitMs: Record<string, number> = { m: 60_000, h: 3_600_000 };

function readInterval(value: string): number | null {
  if (value === 'off') return null;
  const [, digits = '', unit = ''] = /^(\d{1,5})([hm])$/.exec(value) ?? [];
  const ms = Number(digits) * (unitMs[unit] ?? 0);
  if (ms >= 60_000 && ms <= 31 * 24 * 3_600_000) return ms;
  throw new Error(
    'ARCHIVE_INTERVAL must be hours or minutes such as 24h or 90m, 31 days at most, or off',
  );
}

// They go into a response header and into checks of
// message origins, so nothing else may stand there.
function readFrameAncestors(value: string): string[] {
  const sources = value.split(/[\s,]+/).filter(Boolean);
  if (value === "'none'") return [];
  const fine = (source: string) =>
    source === "'self'" ||
    (URL.canParse(source) && new URL(source).origin === source && !source.includes('*'));
  if (sources.every(fine)) return sources;
  throw new Error(
    "FRAME_ANCESTORS must be 'none', or origins such as https://app.example.com, separated by spaces",
  );
}

// A key name of signed notes may hold neither spaces nor plus signs.
function readLogOrigin(value: string | null): string | null {
  if (value === null || /^[a-z0-9.-]+(:\d+)?(\/[\w.-]+)*$/i.test(value)) return value;
  throw new Error('LOG_ORIGIN must be a host name, such as audit.example.com');
}

function isLoopback(url: string | null): boolean {
  return url === null || loopback.includes(new URL(url).hostname);
}

function requireConsistent(config: Config): void {
  const { auth } = config;
  const need = (fine: boolean, sentence: string) => {
    if (!fine) throw new Error(sentence);
  };
  // Node's recursive mkdir never returns there.
  need(!config.dataDir.startsWith('/proc/'), 'DATA_DIR is below /proc, which takes no files');
  need(
    config.platformApiKeys.length <= 2,
    'PLATFORM_API_KEY holds at most two keys, separated by a comma',
  );
  need(
    config.platformApiKeys.every((key) => key.length >= 32),
    'PLATFORM_API_KEY must have at least 32 characters',
  );
  need(
    !auth.jwtSecret || Buffer.byteLength(auth.jwtSecret) >= 32,
    'AUTH_JWT_SECRET must have at least 32 bytes',
  );
  need(!(auth.jwtSecret && auth.jwksUrl), 'set either AUTH_JWKS_URL or AUTH_JWT_SECRET, not both');
  need(
    !auth.jwksUrl || (auth.issuer !== null && auth.audience !== null),
    'AUTH_JWKS_URL needs AUTH_ISSUER and AUTH_AUDIENCE too',
  );
  need(
    !config.sessionSecret || Buffer.byteLength(config.sessionSecret) >= 32,
    'SESSION_SECRET must have at least 32 bytes',
  );
  need(
    !config.databaseOwnerUrl || config.databaseUrl !== null,
    'DATABASE_OWNER_URL needs DATABASE_URL too',
  );
  need(
    !config.databasePoolerUrl || config.databaseUrl !== null,
    'DATABASE_POOLER_URL needs DATABASE_URL too: PostgreSQL itself',
  );
  need(
    config.databaseUrl === null || config.platformApiKeys.length > 0,
    'DATABASE_URL needs PLATFORM_API_KEY too: a key of at least 32 characters',
  );
  need(
    !auth.jwksUrl || auth.jwksUrl.startsWith('https://') || isLoopback(auth.jwksUrl),
    'AUTH_JWKS_URL must start with https://: on the way, http:// keys can be replaced',
  );
  need(
    isLoopback(config.publicUrl) || config.metricsToken !== null,
    'PUBLIC_URL leads here from outside: METRICS_TOKEN must be set',
  );
  if (['::1', ...loopback].includes(config.host)) return;
  need(
    config.publicUrl?.startsWith('https://') === true,
    `HOST ${config.host} is reachable from outside: PUBLIC_URL must be set and start with https://`,
  );
}
