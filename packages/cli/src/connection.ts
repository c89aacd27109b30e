import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  type ClientOptions,
  createClient,
  type IndelibleClient,
  IndelibleError,
  isLoopbackUrl,
  type Retry,
  serviceUrl,
} from '@indelible/client';
import {
  type Catalogue,
  createCatalogue,
  type Plans,
  parseCatalogueFile,
} from '@indelible/protocol';
import type { Command } from 'commander';
import { type Environment, type Io, sentenceOf, UsageError } from './io.ts';
import type { Progress } from './verify/log-source.ts';
import { readAtMost } from './verify/read-at-most.ts';

/** Options that name the service and the credential. */
export interface ConnectionOptions {
  url?: string;
  key?: string;
  insecure?: boolean;
  tenant?: string;
  reason?: string;
  operatorEmail?: string;
  json?: boolean;
}

const urlDefault = 'http://127.0.0.1:3000';

/** Adds the options of commands that call a running service. */
export function withConnection(command: Command): Command {
  return command
    .option('--url <address>', `the service (INDELIBLE_URL; ${urlDefault})`)
    .option(
      '--key <key>',
      'API key or token (INDELIBLE_API_KEY, which other users of the machine cannot see; without ' +
        'both, on this machine: the platform key kept in DATA_DIR)',
    )
    .option('--insecure', 'send the key over plain http to another machine');
}

/** Adds what an operator or a platform key declares to read or change what is a tenant's. */
export function withOperator(command: Command): Command {
  return command
    .option(
      '--reason <text>',
      "why you read a tenant's events, or change its keys or its plan; the tenant sees it",
    )
    .option('--operator-email <address>', 'who is looking, when the key is a platform key');
}

/** The service's address: the option, the environment, or the default. */
export function urlOf(options: ConnectionOptions, env: Environment): string {
  return options.url ?? (env.INDELIBLE_URL || urlDefault);
}

/** The checked address. Throws UsageError for a text that is no address of a service. */
function addressOf(options: ConnectionOptions, env: Environment): string {
  return asUsage(() => serviceUrl(urlOf(options, env), { key: false, insecure: false }));
}

/** A client for these options and environment. Throws UsageError for invalid ones. */
export function connect(
  options: ConnectionOptions,
  io: Io,
  more: Partial<ClientOptions> = {},
): IndelibleClient {
  const url = addressOf(options, io.env);
  const key = options.key ?? (io.env.INDELIBLE_API_KEY || keptKey(url, io));
  return asUsage(() =>
    createClient({
      url,
      key,
      insecure: options.insecure ?? false,
      attempts: 3,
      ...(options.tenant === undefined ? {} : { tenantId: options.tenant }),
      ...(options.reason === undefined ? {} : { reason: wellFormed(options.reason) }),
      ...(options.operatorEmail === undefined ? {} : { operatorEmail: options.operatorEmail }),
      ...more,
    }),
  );
}

/** A client for long work: it tries again for minutes, and says why. */
export function connectPatiently(options: ConnectionOptions, io: Io, progress: Progress) {
  const onRetry = ({ error }: Retry) => progress.note(error.message);
  return connect(options, io, { attempts: 10, timeoutMs: 60_000, onRetry });
}

/** For calls that ask whether something exists. */
export function nullWhenMissing(error: unknown): null {
  if (error instanceof IndelibleError && ['not_found', 'gone'].includes(error.code)) return null;
  throw error;
}

/** Returns if the service can record and read. Needs no key, and has a short timeout. */
export async function requireReachable(
  options: ConnectionOptions,
  env: Environment,
): Promise<void> {
  await asUsage(() => createClient({ url: urlOf(options, env), key: null, attempts: 2 })).ready();
}

// Errors of the client about address or key are usage errors.
function asUsage<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const where = error.message.startsWith('the address') ? ': see --url and INDELIBLE_URL' : '';
    throw new UsageError(error.message.replace('allow it as insecure', 'add --insecure') + where);
  }
}

/**
 * The platform key of an embedded service, if this user may read it. It is for this machine alone:
 * another service that is asked from the same folder must not learn it.
 */
function keptKey(url: string, { env, stderr }: Io): string {
  const path = join(resolve(env.DATA_DIR?.trim() || './data'), 'platform-api-key');
  if (!isLoopbackUrl(new URL(url))) throw noKey();
  try {
    const key = readFileSync(path, 'utf8').trim();
    stderr.write(`using the platform key kept in ${path}\n`);
    return key;
  } catch {
    throw noKey();
  }
}

const noKey = () =>
  new UsageError(
    'no key: give --key, or set INDELIBLE_API_KEY; the operator of the service can make one',
  );

function wellFormed(reason: string): string {
  if (reason.isWellFormed()) return reason;
  throw new UsageError('the reason is not valid text');
}

/** The plans in CATALOGUE_FILE, else the default plans. Throws like `catalogueOf`. */
export const plansOf = (env: Environment): Plans => catalogueOf(env).plans;

/** The catalogue in CATALOGUE_FILE, else the default. Throws UsageError if it cannot be read. */
export function catalogueOf(env: Environment): Catalogue {
  const path = env.CATALOGUE_FILE?.trim();
  if (!path) return createCatalogue();
  try {
    return createCatalogue(parseCatalogueFile(readAtMost(path, 2 ** 20)));
  } catch (error) {
    throw new UsageError(`CATALOGUE_FILE ${path}: ${sentenceOf(error)}`);
  }
}
