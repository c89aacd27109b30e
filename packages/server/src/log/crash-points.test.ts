import { join } from 'node:path';
import { createCatalogue } from '@indelible/protocol';
import type pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { buildApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { sha } from '../crypto/sha256.ts';
import { openSigner } from '../crypto/signer.ts';
import { recordOwnIn } from '../events/own-events.store.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { openDatabase, type WriterTx, withOwnerSession } from '../postgres/db.ts';
import { checkpointOf } from '../testing/checkpoints.ts';
import { rewindable } from '../testing/rewindable.ts';
import { movedBy, platformKey, sessionSecret } from '../testing/service.ts';
import { reopenLogs } from './reopen.ts';

/*
 * Signing and reopening are ended at every step, one after the other: each write to the object
 * store and each statement, before it is done and after. Whatever came of it, the next attempt
 * finds its way, and no origin is ever signed in two futures.
 */

class Killed extends Error {}

/** Lets so many steps happen; the next one never ends, with `persisted` after it was done. */
class Steps {
  taken = 0;
  readonly #killAt: number;
  readonly #persisted: boolean;

  constructor(killAt: number, persisted: boolean) {
    this.#killAt = killAt;
    this.#persisted = persisted;
  }

  async step<T>(work: () => Promise<T>): Promise<T> {
    this.taken += 1;
    if (this.taken < this.#killAt) return work();
    // A killed process does nothing any more.
    if (this.taken === this.#killAt && this.#persisted) await work();
    throw new Killed(`killed at step ${this.#killAt}`);
  }

  connection<T extends WriterTx>(client: T): T {
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    const stepping = (...given: unknown[]) => this.step(() => query(...given));
    return new Proxy(client, {
      get: (target, name) => {
        if (name === 'query') return stepping;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  pool(pool: pg.Pool): pg.Pool {
    const connect = async () => this.connection(await pool.connect());
    return new Proxy(pool, {
      get: (target, name) => {
        if (name === 'connect') return connect;
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  objects(objects: ObjectStore): ObjectStore {
    return {
      ...objects,
      putIfAbsent: (name, body) => this.step(() => objects.putIfAbsent(name, body)),
    };
  }
}

async function installation() {
  const service = await rewindable();
  const { id, key } = await service.tenant();
  const signer = openSigner(join(service.dataDir, 'signing-key.pem'), false);
  const record = (count: number) => service.record(key, count);
  const intact = () => service.intact(id);
  return { ...service, signer, id, key, record, intact };
}

type Installation = Awaited<ReturnType<typeof installation>>;

/** Runs the work, killed at step 1, then at step 2, and so on, until it comes to its end. */
async function killedEverywhere(
  persisted: boolean,
  work: (steps: Steps) => Promise<unknown>,
): Promise<number> {
  for (let killAt = 1; ; killAt++) {
    const steps = new Steps(killAt, persisted);
    await work(steps).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    if (steps.taken < killAt) return steps.taken;
  }
}

/** A reopening as the command does it, in steps. */
function reopen({ ownerUrl, objects, signer }: Installation, steps: Steps) {
  return withOwnerSession(ownerUrl, (owner) =>
    owner.transaction(async (real) => {
      const tx = steps.connection(real);
      const session = {
        query: tx.query,
        now: Date.now,
        transaction: <T>(work: (tx: WriterTx) => Promise<T>) => work(tx),
      };
      return reopenLogs(tx, {
        sha,
        now: Date.now,
        objects: steps.objects(objects),
        recordOwn: await recordOwnIn(session, createCatalogue(), Date.now),
        openSigner: async () => signer,
      });
    }),
  );
}

test.each([
  ['before', false],
  ['after', true],
])(
  'a reopening that is killed %s any of its steps is done again, and forks no log',
  async (_, persisted) => {
    const service = await installation();
    await service.record(3);
    await service.tick();
    const backup = await service.backups.take();
    await service.record(4);
    await service.tick();
    const lost = await checkpointOf(service.app, service.key);
    await service.backups.restore(backup);
    const steps = await killedEverywhere(persisted, (each) => reopen(service, each));
    expect(steps).toBeGreaterThan(15);
    await service.record(9);
    await service.tick();
    const next = await checkpointOf(service.app, service.key);
    expect(next.size).toBe(15);
    expect(next.origin).not.toBe(lost.origin);
    await service.intact();
  },
);

/** A process that starts, signs one round and ends, in steps. */
async function sign({ servingUrl, dataDir, objects, signer, clock }: Installation, steps: Steps) {
  const real = openDatabase(servingUrl, { poolSize: 2, onIdleError: () => {} });
  const db = { ...real, writer: steps.pool(real.writer) };
  const config = readConfig({
    DATABASE_URL: servingUrl,
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: dataDir,
  });
  const logger = pino({ level: 'silent' });
  const deps = {
    ...{ config, db, clock: movedBy(clock), logger, sessionSecret },
    ...{ objects: steps.objects(objects), signer },
  };
  try {
    const app = await buildApp(deps);
    await app.checkpoints.tick();
    await app.http.close();
  } finally {
    await real.close();
  }
}

test.each([
  ['before', false],
  ['after', true],
])(
  'a process that is killed %s any step of a round forks no log, and the next one signs',
  async (_, persisted) => {
    const service = await installation();
    const steps = await killedEverywhere(persisted, async (each) => {
      await service.record(1);
      await sign(service, each);
    });
    expect(steps).toBeGreaterThan(8);
    const { rows } = await service.owner.query(
      'SELECT size::int, halted FROM log_heads, log_rounds',
    );
    await service.tick();
    expect(rows[0].halted).toBeNull();
    expect((await checkpointOf(service.app, service.key)).size).toBe(rows[0].size);
    await service.intact();
  },
);
