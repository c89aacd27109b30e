import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { type App, buildApp } from '../app.ts';
import { type Config, type Environment, readConfig } from '../config.ts';
import { openConfiguredSigner } from '../main.ts';
import { openObjectStore } from '../objects/index.ts';
import { createClock, databaseTime, openDatabase, runAsOwner } from '../postgres/index.ts';

/** A service of this process alone: nothing listens, and nobody else can reach it. */
export interface OwnService {
  /** As the global one, whatever host an address names. */
  fetch: typeof globalThis.fetch;
  /** A platform key that this service alone takes. */
  key: string;
  /** Publishes checkpoints of what has been recorded, where that can be done from here. */
  publish(): Promise<void>;
}

/**
 * For commands that read what users read, also when no service runs, or beside one that does: runs
 * `work` with a service on the owner's database. What `work` throws is passed on; that the service
 * cannot be had is an Error whose message is one sentence for the operator.
 */
export async function withOwnService<T>(
  env: Environment,
  work: (service: OwnService) => Promise<T>,
): Promise<T> {
  const config = readConfig(env);
  const outcome = await runAsOwner(config, 'the log cannot be read', async (ownerUrl) => {
    const db = openDatabase(ownerUrl, { poolSize: 4, onIdleError: () => {} });
    try {
      const key = `idl_platform_${randomBytes(32).toString('base64url')}`;
      const clock = createClock();
      await clock.compare(() => databaseTime(db.reader));
      const app = await buildApp({
        ...{ config: ownConfig(config, key), db, clock },
        logger: pino({ level: 'silent' }),
        // Nothing that it seals outlives it.
        sessionSecret: randomBytes(32).toString('base64url'),
        objects: openObjectStore(config.objectStoreUrl),
        signer: openConfiguredSigner(config),
      });
      const service = {
        key,
        fetch: fetchOf(app),
        publish: async () => void (await app.checkpoints.tick()),
      };
      return await settled(work(service)).finally(() => app.http.close());
    } finally {
      await db.close();
    }
  });
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

/** Nobody but this command asks, and it may ask as fast as it can. */
function ownConfig(config: Config, key: string): Config {
  return { ...config, platformApiKeys: [key], rateLimitPerMinute: 1_000_000_000 };
}

function settled<T>(work: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
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
      ...{ status, headers },
    });
  };
}
