import { randomBytes } from 'node:crypto';
import { nilUuid } from '@indelible/protocol';
import { SignJWT } from 'jose';
import pino from 'pino';
import { type App, buildApp } from '../app.ts';
import { type AuthConfig, type Config, type Environment, readConfig } from '../config.ts';
import { newSecretToken } from '../crypto/secret-token.ts';
import { sha } from '../crypto/sha256.ts';
import { openPresentSigner, seedSigner } from '../crypto/signer.ts';
import { type LogToCheck, logsToCheck, storedDamage } from '../log/check-log.store.ts';
import { type CheckedRounds, checkRounds } from '../log/check-rounds.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { createClock } from '../postgres/clock.ts';
import { type Database, databaseTime, withDatabase } from '../postgres/db.ts';
import { runAsOwner } from '../postgres/run-as-owner.ts';

/** A service inside this process: it does not listen. */
export interface OwnService {
  /** Like the global one, for any host in the address. */
  fetch: typeof globalThis.fetch;
  /** A platform key that only this service accepts. */
  key: string;
  /** A credential of a tenant's own admin, for reads that leave no record in its log. */
  keyOf(tenantId: string): Promise<string>;
  /** What a reader of the logs does not see: how they are stored and published. */
  logs: {
    all(): Promise<LogToCheck[]>;
    /** What is wrong with how a log is stored, or null. */
    damageOf(tenantId: string): Promise<string | null>;
    /** Holds all published rounds against the logs, newest first. */
    rounds(): AsyncIterable<CheckedRounds>;
  };
  /** Publishes checkpoints of everything recorded, if that is possible here. */
  publish(): Promise<void>;
  /**
   * What the last answer that had one left out for callers, such as the object that cannot be read;
   * null if that was taken.
   */
  takeFinding(): string | null;
}

/**
 * For commands that read like users, with or without a running service: runs `work` with a service
 * on the owner's database. Errors of `work` are passed on; if the service cannot start, throws an
 * Error with a sentence for the operator.
 */
export async function withOwnService<T>(
  env: Environment,
  work: (service: OwnService) => Promise<T>,
): Promise<T> {
  const config = readConfig(env);
  const outcome = await runAsOwner(config, 'the log cannot be read', async (ownerUrl) => {
    const objects = openObjectStore(config.objectStoreUrl);
    const run = async (db: Database) => {
      const own = ownConfig(config);
      const [key = ''] = own.platformApiKeys;
      const present = openPresentSigner(config);
      const signer = present ?? seedSigner(randomBytes(32)); // signs nothing
      const clock = createClock();
      await clock.compare(() => databaseTime(db.reader));
      let finding: string | null = null;
      const write = (line: string) => {
        const { msg, err } = JSON.parse(line);
        if (err === undefined) finding = msg;
      };
      const app = await buildApp({
        config: own,
        db,
        clock,
        objects,
        signer,
        logger: pino({ level: 'error' }, { write }),
        // Cursors and links that it signs are used in this process alone.
        sessionSecret: newSecretToken(),
      });
      const service = {
        key,
        keyOf: (tenantId: string) => adminToken(tenantId, own.auth),
        logs: {
          all: () => logsToCheck(db),
          damageOf: (tenantId: string) => storedDamage(db, sha, tenantId),
          rounds: () => checkRounds({ db, sha, objects, signer }),
        },
        fetch: fetchOf(app),
        publish: async () => void (present && (await app.checkpoints.tick())),
        takeFinding: () => {
          const taken = finding;
          finding = null;
          return taken;
        },
      };
      const [worked] = await Promise.allSettled([work(service)]);
      await app.http.close();
      return worked;
    };
    // A login of the owner's own is no member of the serving roles.
    return withDatabase(config.databaseUrl ?? ownerUrl, run, { poolSize: 4 });
  });
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Only this command calls it. */
function ownConfig(config: Config): Config {
  const trusted = { jwksUrl: null, issuer: null, audience: null, operatorIssuer: null };
  return {
    ...config,
    platformApiKeys: [`idl_platform_${newSecretToken()}`],
    auth: { ...config.auth, ...trusted, jwtSecret: newSecretToken() },
  };
}

/** Good for as long as the longest check of a log may take. */
function adminToken(tenantId: string, { claims, jwtSecret }: AuthConfig): Promise<string> {
  const payload = { [claims.sub]: nilUuid, [claims.role]: 'admin', [claims.tenantId]: tenantId };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('30d')
    .sign(new TextEncoder().encode(jwtSecret ?? ''));
}

const bodiless = [204, 304];

function fetchOf({ http }: App): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const answer = await http.inject({
      method: request.method as 'GET',
      url: `${pathname}${search}`,
      headers: Object.fromEntries(request.headers),
      ...(request.body === null ? {} : { payload: Buffer.from(await request.arrayBuffer()) }),
    });
    const { statusCode: status, rawPayload } = answer;
    const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    return new Response(bodiless.includes(status) ? null : new Uint8Array(rawPayload), {
      status,
      headers,
    });
  };
}
