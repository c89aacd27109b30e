import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Backups } from '@indelible/testing/backup';
import { Ledger, Load } from '@indelible/testing/load';
import { PostgresProxy } from '@indelible/testing/postgres-proxy';
import { RunningService } from '@indelible/testing/running-service';
import { platformKey } from '@indelible/testing/service';
import type pg from 'pg';
import { newSigningKey } from '../packages/server/src/crypto/signer.ts';
import { type Ground, openGround } from './ground.ts';

const producersEach = 8;

/** A process of the service, with its own connection to PostgreSQL and its own producers. */
export class Member {
  readonly proxy: PostgresProxy;
  /** What its producers remember, over all its deaths. */
  readonly ledger = new Ledger();
  readonly #env: Record<string, string>;
  /** What its former processes logged. */
  #logged = '';
  #service: RunningService | null = null;
  #load: Load | null = null;

  constructor(proxy: PostgresProxy, env: Record<string, string>) {
    this.proxy = proxy;
    this.#env = env;
  }

  get service(): RunningService {
    if (this.#service === null) throw new Error('this process is not running');
    return this.#service;
  }

  get log(): string {
    return this.#logged + (this.#service?.log ?? '');
  }

  get pid(): number {
    return this.service.process.pid ?? 0;
  }

  async start(more: Record<string, string> = {}): Promise<void> {
    this.#service = await new RunningService({ ...this.#env, ...more }).started();
  }

  /** Producers send to this process until it ends or they are stopped. */
  attack(tenantIds: string[]): void {
    this.#load = new Load(this.service, this.ledger, tenantIds, producersEach);
  }

  async calm(): Promise<void> {
    await this.#load?.stop();
  }

  /** Ends the process and its producers; returns its exit code, null for a killed one. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const code = await this.#service?.end(signal);
    await this.calm();
    this.#logged += this.#service?.log ?? '';
    this.#service = null;
    return code ?? null;
  }
}

/** Several processes of the service on one PostgreSQL and one object store, all of them real. */
export interface Installation {
  members: readonly Member[];
  postgres: Ground;
  /** Folder of the object store. */
  store: string;
  /** What `indelible` commands of this installation have as their environment. */
  env: Record<string, string>;
  backups: Backups;
  /** A client with the owner's rights on the database that is in place now. */
  owner(): Promise<pg.Client>;
  tenantIds: string[];
  close(): Promise<void>;
}

export async function startInstallation(processes: number, tenants: number): Promise<Installation> {
  const place = mkdtempSync(join(tmpdir(), 'indelible-nemesis-'));
  // Started as root, PostgreSQL runs under another account, which must be able to enter.
  chmodSync(place, 0o711);
  const postgres = await openGround(place);
  const { ownerUrl, servingUrl } = postgres;
  const store = join(place, 'objects');
  const env = environment(place, store, postgres);
  const members = await Promise.all(
    Array.from({ length: processes }, () => memberOf(servingUrl, env)),
  );
  const backups = new Backups({ ownerUrl });
  return {
    members,
    postgres,
    store,
    env,
    backups,
    owner: () => backups.owner(),
    tenantIds: await newTenants(members[0], tenants),
    close: async () => {
      for (const member of members) {
        await member.end('SIGKILL');
        await member.proxy.close();
      }
      await backups.drop();
      await postgres.stop();
      rmSync(place, { recursive: true, maxRetries: 10 });
    },
  };
}

function environment(place: string, store: string, { ownerUrl, servingUrl }: Ground) {
  const SIGNING_KEY_FILE = join(place, 'signing-key.pem');
  writeFileSync(SIGNING_KEY_FILE, newSigningKey(), { mode: 0o600 });
  return {
    DATABASE_URL: servingUrl,
    DATABASE_OWNER_URL: ownerUrl,
    DATA_DIR: join(place, 'data'),
    OBJECT_STORE_URL: pathToFileURL(store).href,
    PLATFORM_API_KEY: platformKey,
    SESSION_SECRET: 'a session secret for tests, at least 32 bytes',
    SIGNING_KEY_FILE,
    LOG_LEVEL: 'warn',
  };
}

async function memberOf(servingUrl: string, env: Record<string, string>): Promise<Member> {
  const proxy = new PostgresProxy(servingUrl);
  const member = new Member(proxy, { ...env, DATABASE_URL: await proxy.open(servingUrl) });
  await member.start();
  return member;
}

async function newTenants(member: Member | undefined, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) {
    const body = { name: 'Tenant', plan: 'Enterprise' };
    const path = `/api/tenants/${id}`;
    const answer = await member?.service.call({ method: 'PUT', path, body });
    if (answer?.status !== 201) throw new Error(`no tenant could be made: ${answer?.text}`);
  }
  return ids;
}
