import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { startEmbeddedPostgres } from '../packages/server/src/postgres/embedded-postgres.ts';
import { migrate } from '../packages/server/src/postgres/migrate.ts';
import { memoryOf } from './process-memory.ts';

/** The service as a process of its own, on a fresh embedded PostgreSQL with fsync on. */
export interface BenchService {
  url: string;
  key: string;
  servingUrl: string;
  dataDir: string;
  ownerUrl: string;
  /** The owner's connection to the embedded PostgreSQL, for raw limits and seeding. */
  owner: pg.Client;
  connect(): Promise<pg.Client>;
  /** Processor time that PostgreSQL has taken, seconds. */
  postgresSeconds(): number;
  /** Resident memory of the service's process (PostgreSQL is not in it), bytes. */
  memory(): { now: number; peak: number };
  /** The JSON of a successful answer, or null. Default credential: the platform key. */
  call<Answer = unknown>(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** The audit log that a team writes itself, on the same PostgreSQL. */
  homeMade(): Promise<{ url: string; stop(): Promise<void> }>;
  /** A new tenant with a key of these scopes. */
  tenant(...scopes: string[]): Promise<BenchTenant>;
  stop(): Promise<void>;
}

export interface BenchTenant {
  id: string;
  key: string;
  /** With its key. */
  call: BenchService['call'];
}

export async function startBenchService(): Promise<BenchService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'indelible-bench-'));
  await chmod(dataDir, 0o711); // as root PostgreSQL runs under another account
  const settings = { max_connections: '400' };
  const postgres = await startEmbeddedPostgres({ dataDir, settings, log: () => {} });
  await migrate(postgres.ownerUrl, postgres.servingUrl);
  const key = `idl_platform_${randomBytes(24).toString('base64url')}`;
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    DATABASE_URL: postgres.servingUrl,
    PLATFORM_API_KEY: key,
    PORT: '0',
    LOG_LEVEL: 'warn',
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
  const { child, url } = await startProcess('service-process.ts', env);
  const options = '-c search_path=indelible -c timezone=UTC -c jit=off';
  const connect = async () => {
    const client = new pg.Client({ connectionString: postgres.ownerUrl, options });
    await client.connect();
    return client;
  };
  const owner = await connect();
  const postmaster = readFileSync(join(dataDir, 'postgresql', 'data', 'postmaster.pid'), 'utf8');
  const callAs = (credential: string): BenchService['call'] => {
    const authorization = `Bearer ${credential}`;
    return (...request) => call(url, authorization, ...request);
  };
  return {
    call: callAs(key),
    async tenant(...scopes) {
      const id = randomUUID();
      await callAs(key)('PUT', `/api/tenants/${id}`, { name: 'Bench', plan: 'Enterprise' });
      const wanted = { name: 'bench', scopes };
      const made = await callAs(key)<{ key: string }>(
        'POST',
        `/api/tenants/${id}/api-keys`,
        wanted,
      );
      return { id, key: made.key, call: callAs(made.key) };
    },
    url,
    key,
    servingUrl: postgres.servingUrl,
    dataDir,
    ownerUrl: postgres.ownerUrl,
    owner,
    connect,
    postgresSeconds: () => processorSeconds(Number.parseInt(postmaster, 10)),
    async homeMade() {
      const of = { ...process.env, DATABASE_URL: postgres.ownerUrl };
      const made = await startProcess('home-made-process.ts', of);
      return { url: made.url, stop: () => ended(made.child) };
    },
    memory: () => memoryOf(child.pid ?? 0),
    stop: async () => {
      await owner.end();
      await ended(child);
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Starts a program that prints its URL when it is ready. */
async function startProcess(name: string, env: NodeJS.ProcessEnv) {
  const program = join(import.meta.dirname, name);
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return { child, url: await firstLine(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/**
 * User and system time of a process, of its children and of those that have ended, from proc(5), in
 * ticks of 10 ms.
 */
function processorSeconds(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const lists = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/children`, 'utf8'));
  const children = lists.flatMap((list) => list.split(' ').filter(Boolean));
  const ticks = (of: string | number, fields: number) => {
    const [, after = ''] = readFileSync(`/proc/${of}/stat`, 'utf8').split(') ');
    const times = after.split(' ').slice(11, 11 + fields);
    return times.reduce((sum, time) => sum + Number(time), 0);
  };
  return children.reduce((sum, child) => sum + ticks(child, 2), ticks(pid, 4)) / 100;
}

async function call<Answer>(
  url: string,
  authorization: string,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const type = body ? { 'content-type': 'application/json' } : {};
  const answer = await fetch(url + path, {
    method,
    headers: { authorization, ...type, ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  const isJson = answer.headers.get('content-type')?.includes('json');
  return JSON.parse(isJson ? text : 'null');
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the service has no output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the service ended before it was ready');
}
