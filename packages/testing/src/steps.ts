import type pg from 'pg';
import type { ObjectStore } from '../../server/src/objects/object-store.ts';
import type { WriterTx } from '../../server/src/postgres/db.ts';

class Killed extends Error {}

/**
 * Counts the steps of some work (statements and writes to the object store) and stops it before one
 * of them, as if the process were killed: no later step happens. Being killed before a step leaves
 * the same as being killed after the previous one.
 */
export class Steps {
  taken = 0;
  readonly #killAt: number;

  constructor(killAt: number) {
    this.#killAt = killAt;
  }

  async #step<T>(work: () => Promise<T>): Promise<T> {
    this.taken += 1;
    if (this.taken < this.#killAt) return work();
    throw new Killed(`killed at step ${this.#killAt}`);
  }

  connection<T extends WriterTx>(client: T): T {
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
    return withMember(client, 'query', (...given: unknown[]) => this.#step(() => query(...given)));
  }

  pool(pool: pg.Pool): pg.Pool {
    const connect = async () => this.connection(await pool.connect());
    const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
    const stepped = (...given: unknown[]) => this.#step(() => query(...given));
    return withMember(withMember(pool, 'connect', connect), 'query', stepped);
  }

  objects(objects: ObjectStore): ObjectStore {
    return {
      ...objects,
      putIfAbsent: (...given) => this.#step(() => objects.putIfAbsent(...given)),
      putStream: (...given) => this.#step(() => objects.putStream(...given)),
      remove: (...given) => this.#step(() => objects.remove(...given)),
    };
  }
}

function withMember<T extends object>(whole: T, member: keyof T, replacement: unknown): T {
  return new Proxy(whole, {
    get: (target, name) => {
      if (name === member) return replacement;
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/**
 * Runs the work, killed at step 1, then at step 2, and so on, until it completes. Returns the
 * number of steps of the last run.
 */
export async function killedEverywhere(work: (steps: Steps) => Promise<unknown>): Promise<number> {
  for (let killAt = 1; ; killAt++) {
    const steps = new Steps(killAt);
    await work(steps).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    if (steps.taken < killAt) return steps.taken;
  }
}
