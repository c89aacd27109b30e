import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InjectOptions } from 'fastify';
import pg from 'pg';
import pino from 'pino';
import { inject as provided } from 'vitest';
import { type App, buildApp } from '../../server/src/app.ts';
import type { AppDeps } from '../../server/src/app-log.ts';
import { type Config, type Environment, readConfig } from '../../server/src/config.ts';
import { openConfiguredSigner } from '../../server/src/crypto/signer.ts';
import { openObjectStore } from '../../server/src/objects/open-store.ts';
import { type Clock, createClock } from '../../server/src/postgres/clock.ts';
import { type Database, openDatabase, withOwnerSession } from '../../server/src/postgres/db.ts';
import { storePlans } from '../../server/src/tenants/plans.store.ts';
import { atEnd } from './at-end.ts';
import { clusterNodes, onNodes, runAlone } from './cluster.ts';
import { expectAnswerAsDocumented, shareDocument } from './documented.ts';
import { databaseUrl } from './global-setup.ts';

export { actorWith, eventOf, nthEvent } from '../../protocol/src/testing/take-context.ts';

export const platformKey = 'idl_platform_a-key-that-only-tests-know-0123456789';

/** A service with its own database, built as in production, called without a socket. */
export interface TestService {
  app: App;
  db: Database;
  ownerUrl: string;
  servingUrl: string;
  /** Holds signing key and object store. */
  dataDir: string;
  /** The service's clock; tests move it. */
  clock: { now: number };
  /** Sends a request; default credential: the platform key; checks the answer against OpenAPI. */
  call(options: CallOptions): Promise<Answer>;
  /** A new tenant of this plan with a key of all tenant scopes. */
  tenant(plan?: string): Promise<{ id: string; key: string }>;
  /** A client with the owner's rights, to read and damage stored data. */
  owner: pg.Client;
  /** Closes it, but leaves database and folder until the end of the run. */
  keep(): Promise<KeptService>;
  /** Sooner than at its end. */
  close(): Promise<void>;
}

export interface CallOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';
  url: string;
  /** Bearer credential; null sends none. */
  key?: string | null;
  headers?: Record<string, string | string[]>;
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  raw?: string | Buffer;
}

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape OpenAPI has checked
  body: any;
}

/** A service that is closed, and from which others begin. */
export interface KeptService {
  database: string;
  /** None holds nothing yet. */
  dataDir: string | null;
}

const migrated: KeptService = { database: 'template', dataDir: null };

/**
 * Clones the migrated template, or a kept service, and builds a service on that. It closes with the
 * test that asks for it, or with the file.
 */
export async function testService(
  env: Environment = {},
  poolSize = 6,
  from = migrated,
): Promise<TestService> {
  const { name, drop, ...urls } = await cloneTemplate(from.database);
  const owner = new pg.Client({
    connectionString: urls.ownerUrl,
    options: '-c search_path=indelible',
  });
  owner.on('error', () => {}); // tests that restore a database end its connections
  await owner.connect();
  const clock = { now: Date.now() };
  const dataDir = await mkdtemp(join(tmpdir(), 'indelible-service-'));
  await mkdir(join(dataDir, 'objects'), { mode: 0o700 }); // as the first start does
  if (from.dataDir !== null) await cp(from.dataDir, dataDir, { recursive: true });
  dataDirs.set(urls.servingUrl, dataDir);
  if (env.CATALOGUE_FILE) await storeItsPlans(urls.ownerUrl, env);
  const { app, db, close } = await serviceOn(urls.servingUrl, clock, env, poolSize);
  const call = (options: CallOptions) => callOn(app, options);
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= close().then(() => owner.end());
    return ended;
  };
  let isKept = false;
  const keep = async () => {
    isKept = true;
    await end();
    return { database: name, dataDir };
  };
  const remove = async () => {
    await end();
    if (isKept) return;
    await drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  atEnd(remove);
  return {
    app,
    db,
    ...urls,
    dataDir,
    clock,
    owner,
    call,
    tenant: (plan = 'Enterprise') => makeTenant(call, plan),
    keep,
    close: remove,
  };
}

/** Stores the plans like `indelible migrate`. */
function storeItsPlans(ownerUrl: string, env: Environment): Promise<void> {
  const { plans } = readConfig(env).catalogue;
  return withOwnerSession(ownerUrl, (owner) => owner.transaction((tx) => storePlans(tx, plans)));
}

/** Protects cursors and stored secrets in tests. */
export const sessionSecret = 'a session secret for tests, at least 32 bytes';

/** Services on one database share keys and objects, like processes of one installation. */
const dataDirs = new Map<string, string>();

/** Another service on the same database, like a second process. */
export async function serviceOn(
  servingUrl: string,
  clock: { now: number },
  env: Environment = {},
  poolSize = 6,
  changes: Partial<Config> = {},
  more: Partial<Pick<AppDeps, 'panelFolder' | 'resolve' | 'logger'>> = {},
) {
  const fromEnv = readConfig({
    PLATFORM_API_KEY: platformKey,
    DATABASE_URL: servingUrl,
    DATA_DIR: dataDirs.get(servingUrl),
    ...env,
  });
  const config = { ...fromEnv, ...changes };
  const objects = openObjectStore(config.objectStoreUrl);
  const { databasePoolerUrl: poolerUrl } = config;
  const db = openDatabase(servingUrl, { poolSize, poolerUrl, onIdleError: () => {} });
  const logger = pino({ level: env.LOG_LEVEL ?? 'silent' });
  const signer = openConfiguredSigner(config);
  const deps = {
    config,
    db,
    clock: movedBy(clock),
    logger,
    sessionSecret,
    objects,
    signer,
    // Most proofs that tests ask for would else be waited for a second.
    demandEveryMs: 0,
    ...more,
  };
  const app = await buildApp(deps);
  shareDocument(app.http, config.catalogue);
  let closed: Promise<void> | undefined;
  /** Later calls wait for the first. */
  const close = () => {
    closed ??= app.http.close().then(() => db.close());
    return closed;
  };
  return { app, db, close };
}

/** A further process on the same database, which ends with the test or file if not before. */
export async function anotherProcess(
  { servingUrl, clock }: TestService,
  env: Environment,
  more: Parameters<typeof serviceOn>[5] = {},
) {
  const other = await serviceOn(servingUrl, clock, env, 6, {}, more);
  atEnd(other.close);
  return other;
}

/** A process with all lines that it logs. */
export async function loggedProcess(service: TestService, env: Environment) {
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => void lines.push(line) });
  return { ...(await anotherProcess(service, env, { logger })), lines };
}

/** A clock that the test controls. */
export const movedBy = (clock: { now: number }): Clock =>
  createClock(
    () => clock.now,
    () => clock.now,
  );

/** Sends a request to any service; checks the answer against OpenAPI. */
export async function callOn(app: App, options: CallOptions): Promise<Answer> {
  const { method = 'GET', url, key = platformKey, headers = {}, body, raw } = options;
  const request: InjectOptions = {
    method,
    url,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined && raw === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  };
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const answer = await app.http.inject(payload === undefined ? request : { ...request, payload });
  const isJson = /^application\/(problem\+)?json/.test(String(answer.headers['content-type']));
  const result = {
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.body,
    body: isJson && answer.body !== '' ? answer.json() : answer.body,
  };
  expectAnswerAsDocumented(app.http, method, url, result);
  return result;
}

/** Records an event, or `{ events }`, in any process. */
export function post(app: App, key: string, body: object): Promise<Answer> {
  const url = `/api/audit-logs${'events' in body ? '/batch' : ''}`;
  return callOn(app, { method: 'POST', url, key, body });
}

async function makeTenant(
  call: TestService['call'],
  plan: string,
): Promise<{ id: string; key: string }> {
  const id = randomUUID();
  await call({
    method: 'PUT',
    url: `/api/tenants/${id}`,
    body: { name: `Tenant ${id.slice(0, 4)}`, plan },
  });
  const scopes = ['events:write', 'events:read', 'exports:write'];
  const { body } = await call({
    method: 'POST',
    url: `/api/tenants/${id}/api-keys`,
    body: { name: 'test', scopes },
  });
  return { id, key: body.key };
}

/** A new database with the content of another, on all nodes. */
export async function cloneTemplate(from = 'template') {
  const { ownerUrl, servingUrl } = provided('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await clone(ownerUrl, from, name);
  return {
    name,
    ownerUrl: databaseUrl(ownerUrl, name),
    servingUrl: databaseUrl(servingUrl, name),
    drop: () =>
      onServers(ownerUrl, (node) => runAlone(node, name, `DROP DATABASE IF EXISTS ${name}`)),
  };
}

async function clone(ownerUrl: string, from: string, name: string): Promise<void> {
  const client = await keptConnection(ownerUrl);
  // Concurrent clones would see each other's connection to the template.
  await client.query('SELECT pg_advisory_lock(1)');
  try {
    await onServers(ownerUrl, (node) =>
      runAlone(node, from, `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY file_copy`),
    );
  } finally {
    await client.query('SELECT pg_advisory_unlock(1)');
  }
}

let kept: Promise<pg.Client> | undefined;

/** One for all files of a worker: most make and drop a database. A lost one is made anew. */
function keptConnection(ownerUrl: string): Promise<pg.Client> {
  const connect = async () => {
    const client = new pg.Client({ connectionString: ownerUrl });
    client.on('error', () => {
      kept = undefined;
    });
    await client.connect();
    return client;
  };
  kept ??= connect();
  return kept;
}

/** On every node of a cluster, or on the run's one server. */
async function onServers(ownerUrl: string, work: (node: pg.Client) => Promise<unknown>) {
  if (clusterNodes().length > 0) await onNodes(ownerUrl, work);
  else await work(await keptConnection(ownerUrl));
}

/** Runs `work` while the service has no right to record. */
export async function whileUnrecordable(
  { owner }: Pick<TestService, 'owner'>,
  work: () => Promise<unknown>,
): Promise<void> {
  await owner.query('REVOKE EXECUTE ON FUNCTION append_events FROM indelible_writer');
  try {
    await work();
  } finally {
    await owner.query('GRANT EXECUTE ON FUNCTION append_events TO indelible_writer');
  }
}
