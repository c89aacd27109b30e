/** Data folders of the embedded PostgreSQL, and what runs on them until a test ends. */
import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../server/src/postgres/embedded-postgres.ts';
import { endServer, Service, type ServiceOptions } from './embedded-postgres-service.ts';
import { newFolder } from './folders.ts';
import { copyFolder } from './global-setup.ts';

const settings = { fsync: 'off', shared_buffers: '16MB' };
export const systemFolder = '/var/lib/indelible';

/** What is there during one test; afterwards it ends, and its folders go. */
class PostgresFolders {
  readonly #first: string;
  readonly scratch = newFolder();
  readonly dataDir = join(this.scratch, 'data');
  readonly systemPaths: string[] = [];
  readonly #services: Service[] = [];
  readonly #servers: EmbeddedPostgres[] = [];
  readonly #dataDirs = new Set<string>();

  constructor(first: string) {
    this.#first = first;
  }

  /** A folder that has been served from before. */
  async startedBefore(folder = this.dataDir): Promise<void> {
    await copyFolder(this.#first, folder);
  }

  async start(
    folder = this.dataDir,
    log: (line: string) => void = () => {},
  ): Promise<EmbeddedPostgres> {
    this.#dataDirs.add(folder);
    const server = await startEmbeddedPostgres({ dataDir: folder, log, settings });
    this.#servers.push(server);
    return server;
  }

  launch(options: Partial<ServiceOptions> = {}): Service {
    const service = new Service({ dataDir: this.dataDir, ...options });
    this.#services.push(service);
    this.#dataDirs.add(options.dataDir ?? this.dataDir);
    return service;
  }

  async end(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.end('SIGKILL')));
    // A stop that fails has failed its test already; what it left behind must go all the same.
    await Promise.allSettled(this.#servers.map((server) => server.stop()));
    await Promise.all([...this.#dataDirs].map((folder) => endServer(folder, 'SIGQUIT')));
    for (const path of [this.scratch, ...this.systemPaths]) {
      rmSync(path, { recursive: true, maxRetries: 10 });
    }
    if (this.systemPaths.length > 0 && readdirSync(systemFolder).length === 0) {
      rmdirSync(systemFolder);
    }
  }
}

/** Folders for each test of a file. What a first start makes is copied: initdb takes longest. */
export function postgresFolders(): () => PostgresFolders {
  const first = join(newFolder(), 'data');
  let folders: PostgresFolders | undefined;
  beforeAll(async () => {
    const server = await startEmbeddedPostgres({ dataDir: first, log: () => {}, settings });
    await server.stop();
  });
  afterAll(() => rmSync(dirname(first), { recursive: true }));
  afterEach(async () => {
    await folders?.end();
    folders = undefined;
  });
  return () => {
    folders ??= new PostgresFolders(first);
    return folders;
  };
}

export async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

export const remember = 'CREATE TABLE remembered AS SELECT 42 AS answer';
export const recall = 'SELECT answer FROM remembered';
