import { randomUUID } from 'node:crypto';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { type BatchResult, type EventInput, IndelibleError, type RecordContext } from '../index.ts';
import { createOutbox, fromPg, type PoolLike, type RelayOptions } from './index.ts';
import { changeEvent } from './testing/change-event.ts';
import { hostDatabase } from './testing/host-database.ts';

const host = await hostDatabase();
afterAll(() => host.close());

const queueId = randomUUID();
let tables = 0;

/** An outbox in a table of its own, and a service some of whose tenants' logs take nothing. */
async function newOutbox(stuck = new Set<string>()) {
  tables += 1;
  const outbox = createOutbox({ table: `relayed_${tables}` });
  await host.pool.query(outbox.migration);
  const stored: unknown[] = [];
  const client = {
    recordBatchTexts: async (texts: readonly string[]): Promise<BatchResult[]> =>
      texts.map((text, index) => {
        const { tenantId = '', diff } = JSON.parse(text) as EventInput;
        const error = { code: 'unavailable', detail: 'the log is damaged' } as const;
        if (stuck.has(tenantId)) return { index, status: 'rejected', error };
        stored.push(diff?.changes?.to);
        return { index, status: 'created' };
      }),
  };
  const audit = outbox.with(fromPg);
  const change = (n: number, tenantId = 'c0ffee00-0000-4000-8000-000000000001') =>
    audit.inTransaction(host.pool, changeEvent(tenantId, queueId, n));
  const relay = (options: Partial<RelayOptions> = {}) => {
    const onError = () => {};
    const made = outbox.relay({
      pool: host.pool,
      client,
      pollMs: 5,
      standbyMs: 5,
      onError,
      ...options,
    });
    onTestFinished(() => made.stop());
    return made;
  };
  return { stored, client, change, relay };
}

test('tenants whose logs take nothing hold up no other, however many batches of theirs come first', async () => {
  const stuck = new Set([randomUUID(), randomUUID(), randomUUID()]);
  const { stored, change, relay } = await newOutbox(stuck);
  for (const tenantId of stuck) for (const n of [1, 2, 3]) await change(n, tenantId);
  await change(7);
  const relaying = relay({ batchMax: 2 });
  relaying.start();
  await expect.poll(() => stored, { interval: 5 }).toEqual([7]);
  stuck.clear();
  await relaying.drain();
  expect(stored).toEqual([7, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
});

test('a tenant that waits is tried again in time, even if the clock of the machine is put back', async () => {
  const stuck = new Set([randomUUID()]);
  const { stored, change, relay } = await newOutbox(stuck);
  await change(7);
  await change(1, [...stuck][0]);
  const told = Promise.withResolvers<void>();
  const relaying = relay({ onError: () => told.resolve() });
  relaying.start();
  await told.promise;
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  stuck.clear();
  await expect.poll(() => stored, { interval: 5 }).toEqual([7, 1]);
});

/** The host's pool, with something to do before each statement that has this in its text. */
function poolWith(mark: string, before: () => unknown): PoolLike {
  return {
    connect: async () => {
      const connection = await host.pool.connect();
      const query = async (text: string, values?: unknown[]) => {
        if (text.includes(mark)) await before();
        return connection.query(text, values);
      };
      return { query, release: (error) => connection.release(error) };
    },
  };
}

test('rows of a tenant that waits are not read, however many there are', async () => {
  const stuck = new Set([randomUUID()]);
  const { stored, change, relay } = await newOutbox(stuck);
  for (let n = 1; n <= 20; n += 1) await change(n, [...stuck][0]);
  await change(7);
  let reads = 0;
  const pool = poolWith('SELECT id::text AS id, event_id', () => {
    reads += 1;
  });
  relay({ pool, batchMax: 2 }).start();
  await expect.poll(() => stored, { interval: 5 }).toEqual([7]);
  expect(reads).toBe(2);
});

test('where passing over what waits takes the database long, it is asked less often', async () => {
  const stuck = new Set([randomUUID()]);
  const { change, relay } = await newOutbox(stuck);
  await change(1, [...stuck][0]);
  const looks: number[] = [];
  const second = Promise.withResolvers<void>();
  const pool = poolWith('octet_length(event)', async () => {
    if (looks.push(performance.now()) === 2) second.resolve();
    await host.pool.query('SELECT pg_sleep(0.1)');
  });
  relay({ pool, pollMs: 1 }).start();
  await second.promise;
  const [one = 0, two = 0] = looks;
  expect(two - one).toBeGreaterThan(450);
});

test('a relay that is started while it stops goes on afterwards, and both calls come to an end', async () => {
  const { stored, client, change, relay } = await newOutbox();
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = {
    recordBatchTexts: async (texts: readonly string[]) => {
      begun.resolve();
      await goOn.promise;
      return client.recordBatchTexts(texts);
    },
  };
  await change(1);
  const relaying = relay({ client: slow });
  relaying.start();
  await begun.promise;
  const stopped = relaying.stop();
  relaying.start();
  goOn.resolve();
  await stopped;
  await change(2);
  await expect.poll(() => stored, { interval: 5 }).toEqual([1, 2]);
});

test('a relay that stops does not wait for a service that never answers, and loses no row', async () => {
  const { stored, change, relay } = await newOutbox();
  const begun = Promise.withResolvers<void>();
  const errors: Error[] = [];
  const silent = {
    recordBatchTexts: (_: unknown, { signal }: RecordContext = {}) => {
      begun.resolve();
      return new Promise<never>((_, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      );
    },
  };
  await change(1);
  const waiting = relay({ client: silent, onError: (error) => errors.push(error) });
  waiting.start();
  await begun.promise;
  await waiting.stop({ timeoutMs: 1 });
  expect(errors).toEqual([]);
  expect(await waiting.backlog()).toEqual({ due: 1, rejected: 0 });
  await relay().drain();
  expect(stored).toEqual([1]);
});

test('draining leaves a relay running that was started meanwhile', async () => {
  const { stored, change, relay } = await newOutbox();
  await change(1);
  const relaying = relay();
  const drained = relaying.drain();
  relaying.start();
  await drained;
  await change(2);
  await expect.poll(() => stored, { interval: 5 }).toEqual([1, 2]);
});

test.each([
  ['the service', 400, 'malformed_json'],
  ['a firewall', 403, 'unexpected_answer'],
] as const)(
  'a row that is no JSON is set aside when %s refuses it, and costs the others nothing',
  async (_, status, code) => {
    const { stored, client, change, relay } = await newOutbox();
    await change(1);
    await host.pool.query(
      `INSERT INTO relayed_${tables} (event_id, event) VALUES ('by hand', '{"tenantId":')`,
    );
    await change(2);
    const strict = {
      recordBatchTexts: async (texts: readonly string[]) => {
        if (!texts.some((text) => text.endsWith(':'))) return client.recordBatchTexts(texts);
        throw new IndelibleError({ status, code, detail: 'no JSON', requestId: null });
      },
    };
    const told: unknown[] = [];
    const onRejected = ({ id }: EventInput, error: { code: string }) => told.push([id, error.code]);
    await relay({ client: strict, onRejected, onError: (error) => told.push(error) }).drain();
    expect([...new Set(stored)]).toEqual([1, 2]);
    expect(told).toEqual([['by hand', code]]);
  },
);

test('a refused event is told once, also if the database fails before the others are deleted', async () => {
  const { client, change, relay } = await newOutbox();
  for (const n of [1, 2]) await change(n);
  const strict = {
    recordBatchTexts: async (texts: readonly string[]): Promise<BatchResult[]> => {
      const [first, ...others] = await client.recordBatchTexts(texts);
      const error = { code: 'validation_failed', detail: 'why' } as const;
      return others.length > 0 && first ? [{ ...first, status: 'rejected', error }, ...others] : [];
    },
  };
  let failures = 0;
  const pool: PoolLike = {
    connect: async () => {
      const connection = await host.pool.connect();
      return {
        query: async (text, values) => {
          const fails = text.startsWith('DELETE') && failures === 0;
          if (fails) failures += 1;
          if (fails) throw new Error('connection lost');
          return connection.query(text, values);
        },
        release: (error) => connection.release(error),
      };
    },
  };
  const told: unknown[] = [];
  const onRejected = ({ diff }: EventInput) => told.push(diff?.changes?.to);
  const relaying = relay({
    pool,
    client: strict,
    onRejected,
  });
  relaying.start();
  await expect.poll(() => failures, { interval: 5 }).toBe(1);
  await relaying.stop();
  expect(told).toEqual([1]);
});

test('a connection that is lost while its lock is released goes back to the pool once', async () => {
  const { relay } = await newOutbox();
  let released = 0;
  const pool = {
    connect: async () => {
      const connection = await host.pool.connect();
      let onError = (_: Error) => {};
      return {
        query: async (text: string, values?: unknown[]) => {
          if (!text.includes('advisory_unlock')) return connection.query(text, values);
          onError(new Error('connection lost'));
          throw new Error('connection lost');
        },
        on: (_: 'error', listener: (error: Error) => void) => {
          onError = listener;
        },
        release: (error?: Error) => {
          released += 1;
          if (released === 1) connection.release(error);
        },
      };
    },
  };
  const relaying = relay({ pool });
  await relaying.drain();
  await relaying.stop();
  expect(released).toBe(1);
});

test('options that are undefined are as if they were not there; no pause at all is refused', async () => {
  const { stored, change, relay } = await newOutbox();
  const unset = { batchMax: undefined, pollMs: undefined, onError: undefined } as object;
  await change(1);
  await relay(unset).drain();
  expect(stored).toEqual([1]);
  for (const wrong of [{ pollMs: 0 }, { pollMs: Number.NaN }, { standbyMs: -1 }, { batchMax: 0 }]) {
    expect(() => relay(wrong), JSON.stringify(wrong)).toThrow(RangeError);
  }
});

test('tables of one name in two schemas have a relay each, which sends its own events', async () => {
  const sent: unknown[] = [];
  const relays = [];
  for (const [n, schema] of ['one', 'two'].entries()) {
    await host.pool.query(`CREATE SCHEMA ${schema}`);
    const outbox = createOutbox({ table: `${schema}.outbox` });
    for (let times = 0; times < 2; times += 1) await host.pool.query(outbox.migration);
    await outbox.with(fromPg).inTransaction(host.pool, changeEvent(randomUUID(), queueId, n));
    const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> => {
      for (const text of texts) sent.push([schema, JSON.parse(text).diff.changes.to]);
      return texts.map((_, index) => ({ index, status: 'created' }));
    };
    relays.push(outbox.relay({ pool: host.pool, client: { recordBatchTexts } }));
  }
  for (const relay of relays) relay.start();
  await Promise.all(relays.map((relay) => relay.drain()));
  await Promise.all(relays.map((relay) => relay.stop()));
  expect(sent.sort()).toEqual([
    ['one', 0],
    ['two', 1],
  ]);
});
