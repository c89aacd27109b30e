import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expectLogIntact } from '@indelible/testing/intact';
import { testService } from '@indelible/testing/service';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import {
  type AuditEvent,
  createClient,
  type EventInput,
  type IndelibleClient,
  UnreachableError,
} from '../index.ts';
import { gateTo } from '../testing/gate.ts';
import { scriptedService } from '../testing/scripted-service.ts';
import { createOutbox, fromPg, InvalidEventError, type RelayOptions } from './index.ts';
import { changeEvent } from './testing/change-event.ts';
import { hostDatabase } from './testing/host-database.ts';

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const host = await hostDatabase();
afterAll(() => host.close());

let tables = 0;

/** A tenant, and an outbox in a table of its own. */
async function newOutbox(source?: string) {
  const { id: tenantId, key } = await service.tenant();
  tables += 1;
  const outbox = createOutbox({ table: `outbox_${tables}`, ...(source && { source }) });
  await host.pool.query(outbox.migration);
  const client = createClient({ url, key });
  const queueId = randomUUID();
  const audit = outbox.with(fromPg);
  /** Commits the event of the queue's n-th change. */
  const change = (n: number) => audit.inTransaction(host.pool, changeEvent(tenantId, queueId, n));
  const relay = (options: Partial<RelayOptions> = {}) => {
    const made = outbox.relay({ pool: host.pool, client, pollMs: 5, standbyMs: 5, ...options });
    onTestFinished(() => made.stop());
    return made;
  };
  const rows = async () =>
    (await host.pool.query(`SELECT * FROM outbox_${tables} ORDER BY id`)).rows;
  return { tenantId, queueId, outbox, audit, client, change, relay, rows };
}

/** The changes of a queue that the log holds, in the log's order. */
async function changesIn(client: IndelibleClient, queueId: string): Promise<unknown[]> {
  const found: AuditEvent[] = [];
  const query = { resourceId: queueId, sort: 'sequence', order: 'asc' } as const;
  for await (const event of client.list(query)) found.push(event);
  return found.map(({ diff }) => diff.changes?.to);
}

test('running the migration again changes nothing', async () => {
  const { outbox, change, rows } = await newOutbox();
  const id = await change(1);
  await host.pool.query(outbox.migration);
  expect(await rows()).toMatchObject([{ event_id: id }]);
});

test('an event the service would refuse throws in the transaction, with every field, and is not written', async () => {
  const { audit, tenantId, queueId, rows } = await newOutbox();
  const event = changeEvent(tenantId, queueId, 1);
  const bad = { ...event, action: 'Not a word', actor: { ...event.actor, role: '' } };
  const error = await audit.inTransaction(host.pool, bad).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(InvalidEventError);
  expect(error).toMatchObject({
    code: 'validation_failed',
    errors: [{ path: '/actor/role' }, { path: '/action' }],
  });
  const others: [Partial<EventInput>, string][] = [
    [{ action: 'heartbeat' }, 'not_recordable'],
    [{ crossTenant: true }, 'cross_tenant_mismatch'],
    [{ timestamp: '2999-01-01T00:00:00Z' }, 'timestamp_in_future'],
    [{ after: { seconds: 1n } }, 'validation_failed'],
    [{ actor: { ...event.actor, userAgent: 'x'.repeat(700_000) } }, 'payload_too_large'],
  ];
  for (const [change, code] of others) {
    await expect(audit.inTransaction(host.pool, { ...event, ...change })).rejects.toMatchObject({
      code,
    });
  }
  expect(await rows()).toEqual([]);
});

test('no secret reaches the table, and that it was changed is still told', async () => {
  const { audit, tenantId, queueId, rows } = await newOutbox();
  const { diff: _, ...event } = changeEvent(tenantId, queueId, 1);
  const states = {
    before: { sip: { password: 'hunter1' } },
    after: { sip: { password: 'hunter2' } },
  };
  await audit.sink(host.pool).record({ ...event, ...states });
  const [row] = await rows();
  expect(row.event).not.toContain('hunter');
  expect(JSON.parse(row.event).diff).toEqual({
    'sip.password': { from: '[masked]', to: '[masked]' },
  });
});

test('an event whose transaction commits late is neither skipped nor put before what it follows', async () => {
  const { audit, tenantId, queueId, client, change, relay, rows } = await newOutbox();
  const late = await host.pool.connect();
  await late.query('BEGIN');
  await audit.inTransaction(late, changeEvent(tenantId, queueId, 2));
  await change(1); // a higher number, and committed first
  const draining = relay();
  await draining.drain();
  expect(await changesIn(client, queueId)).toEqual([1]);
  expect(await rows()).toEqual([]);
  await late.query('COMMIT');
  late.release();
  await change(3);
  await draining.drain();
  expect(await changesIn(client, queueId)).toEqual([1, 2, 3]);
});

test('a refused event is set aside with its reason and blocks no other; it can be sent again', async () => {
  const { audit, tenantId, queueId, client, change, relay, rows } = await newOutbox();
  const refused: unknown[] = [];
  await change(1);
  // Fine by every rule that can be judged here; only
  // the service knows that it is not the key's tenant.
  const strange = await audit.inTransaction(host.pool, changeEvent(randomUUID(), queueId, 2));
  await change(3);
  const onRejected = (event: EventInput, { code }: { code: string }) =>
    refused.push([event.id, code]);
  const relaying = relay({ onRejected });
  await relaying.drain();
  expect(await changesIn(client, queueId)).toEqual([1, 3]);
  expect(refused).toEqual([[strange, 'forbidden']]);
  expect(await rows()).toMatchObject([
    {
      event_id: strange,
      rejected_code: 'forbidden',
      rejected_reason: expect.stringContaining('tenant'),
    },
  ]);
  expect(await relaying.backlog()).toEqual({ due: 0, rejected: 1 });
  await host.pool.query(
    `UPDATE outbox_${tables} SET rejected_at = NULL, event = replace(event, tenant_id, $1)`,
    [tenantId],
  );
  await relaying.drain();
  expect(await changesIn(client, queueId)).toEqual([1, 3, 2]);
  await expectLogIntact(service, tenantId);
});

test('a callback that throws does not stop the relay', async () => {
  const { audit, queueId, client, change, relay } = await newOutbox();
  await audit.inTransaction(host.pool, changeEvent(randomUUID(), queueId, 1));
  await change(2);
  const warned = once(process, 'warning');
  const onRejected = () => {
    throw new Error('from the host');
  };
  await relay({ onRejected }).drain();
  expect(await changesIn(client, queueId)).toEqual([2]);
  expect(String(await warned)).toContain('from the host');
});

test('while the service is away the relay waits and says so; then it delivers everything in order', async () => {
  const { queueId, client, change, relay } = await newOutbox();
  const { url: gateUrl, open } = await gateTo(url);
  const { key } = await service.tenant();
  for (const n of [1, 2, 3]) await change(n);
  const errors: string[] = [];
  const away = Promise.withResolvers<void>();
  const onError = ({ name }: Error) => {
    errors.push(name);
    if (errors.length === 2) away.resolve();
  };
  const through = createClient({ url: gateUrl, key, attempts: 1 });
  const own = { recordBatchTexts: (texts: readonly string[]) => through.recordBatchTexts(texts) };
  const relaying = relay({ client: own, onError });
  relaying.start();
  await away.promise;
  expect(new Set(errors)).toEqual(new Set(['UnreachableError']));
  expect((await relaying.backlog()).due).toBe(3);
  Object.assign(own, { recordBatchTexts: client.recordBatchTexts });
  open();
  await relaying.drain();
  expect(await changesIn(client, queueId)).toEqual([1, 2, 3]);
});

test('a tenant whose log cannot take events waits, all of it and in order; the others go on', async () => {
  const { audit, tenantId, queueId, relay, rows } = await newOutbox();
  const stuck = randomUUID();
  for (const [tenant, n] of [
    [stuck, 1],
    [tenantId, 1],
    [stuck, 2],
    [tenantId, 2],
  ] as const) {
    await audit.inTransaction(host.pool, changeEvent(tenant, queueId, n));
  }
  const unavailable = { index: 0, status: 'rejected', error: { code: 'unavailable', detail: '' } };
  const {
    received,
    url: scriptedUrl,
    close,
  } = await scriptedService([
    { body: { results: [unavailable, { index: 1, status: 'created' }] } },
    { body: { results: [{ index: 0, status: 'created' }] } },
  ]);
  onTestFinished(close);
  const told = Promise.withResolvers<Error>();
  const client = createClient({ url: scriptedUrl, key: 'idl_x' });
  const relaying = relay({ client, batchMax: 2, onError: told.resolve });
  relaying.start();
  expect(await told.promise).toMatchObject({ code: 'unavailable' });
  await relaying.stop();
  const batches = received.map(({ body }) =>
    JSON.parse(body).events.map((event: EventInput) => [event.tenantId, event.diff?.changes?.to]),
  );
  expect(batches).toEqual([
    [
      [stuck, 1],
      [tenantId, 1],
    ],
    [[tenantId, 2]],
  ]);
  expect((await rows()).map(({ tenant_id }) => tenant_id)).toEqual([stuck, stuck]);
});

test('one relay works at a time, and another one takes over when its connection is gone', async () => {
  const { queueId, client, change, relay } = await newOutbox();
  const by: string[] = [];
  const named = (name: string) => ({
    recordBatchTexts: (texts: readonly string[]) => {
      by.push(name);
      return client.recordBatchTexts(texts);
    },
  });
  const lost = () => {};
  const first = relay({ client: named('first'), onError: () => lost(), pollMs: 60_000 });
  first.start();
  await change(1);
  await first.drain();
  const second = relay({ client: named('second') });
  second.start();
  await change(2);
  await Promise.all([first.drain(), second.drain()]);
  expect(by).toEqual(['first', 'first']);
  // Its connection ends as it does when the process dies; it learns of it only when it looks again.
  const { rowCount } = await host.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks
     WHERE locktype = 'advisory' AND objid = 'outbox_${tables}'::regclass AND granted`,
  );
  expect(rowCount).toBe(1);
  await change(3);
  await second.drain();
  expect(by.at(-1)).toBe('second');
  expect(await changesIn(client, queueId)).toEqual([1, 2, 3]);
  await first.stop();
});

test('a large backlog goes in batches that are bounded in number and in bytes', async () => {
  const { tenantId, queueId, client, audit, relay, rows } = await newOutbox();
  const { diff: _, ...event } = changeEvent(tenantId, queueId, 1);
  const large = { ...event, after: { script: 'x'.repeat(200_000) } };
  for (let n = 0; n < 30; n += 1) await audit.inTransaction(host.pool, large);
  await host.pool.query(
    `INSERT INTO outbox_${tables} (event_id, tenant_id, event)
     SELECT '', $2, $1 FROM generate_series(1, 2_500)`,
    [JSON.stringify({ ...event, action: 'login' }), tenantId],
  );
  const sizes: { events: number; bytes: number }[] = [];
  const measured = {
    recordBatchTexts: (texts: readonly string[]) => {
      sizes.push({ events: texts.length, bytes: texts.join().length });
      return client.recordBatchTexts(texts);
    },
  };
  await relay({ client: measured }).drain();
  expect(await rows()).toEqual([]);
  expect(sizes.reduce((sum, { events }) => sum + events, 0)).toBe(2_530);
  expect(Math.max(...sizes.map(({ events }) => events))).toBeLessThanOrEqual(1_000);
  expect(Math.max(...sizes.map(({ bytes }) => bytes))).toBeLessThanOrEqual(4.1 * 2 ** 20);
  expect(sizes.length).toBeLessThan(8);
});

test('a relay that is stopped says so to who waits for it, and starts again', async () => {
  const { client, queueId, change, relay } = await newOutbox();
  const blocked = Promise.withResolvers<void>();
  const slow = {
    recordBatchTexts: async (texts: readonly string[]) => {
      await blocked.promise;
      return client.recordBatchTexts(texts);
    },
  };
  await change(1);
  const relaying = relay({ client: slow });
  const waiting = expect(relaying.drain()).rejects.toThrow('stopped');
  const stopped = relaying.stop();
  blocked.resolve();
  await Promise.all([stopped, waiting]);
  await relaying.drain();
  expect(await changesIn(client, queueId)).toEqual([1]);
});

test('a table name that is no plain identifier is refused', () => {
  for (const table of ['audit outbox', 'Audit', 'a.b.c', 'x"; DROP TABLE y; --', '']) {
    expect(() => createOutbox({ table }), table).toThrow(TypeError);
  }
  expect(createOutbox({ table: 'app.outbox' }).migration).toContain('"app"."outbox"');
});

test('numbered rows have no gap after a rollback, a lost answer, or with two relays', async () => {
  const { tenantId, outbox, audit, client, change, relay, rows } = await newOutbox('billing');
  await host.pool.query(outbox.migration);
  await change(1);
  const connection = await host.pool.connect();
  await connection.query('BEGIN');
  await audit.inTransaction(connection, changeEvent(tenantId, randomUUID(), 2));
  await connection.query('ROLLBACK');
  connection.release();
  await change(3);
  const unheard = {
    recordBatchTexts: async (texts: readonly string[]) => {
      await client.recordBatchTexts(texts);
      throw new UnreachableError('the answer was lost');
    },
  };
  const lost = Promise.withResolvers<void>();
  const first = relay({ client: unheard, onError: () => lost.resolve() });
  first.start();
  await lost.promise;
  await first.stop();
  expect(await rows()).toMatchObject([{ source_sequence: '0' }, { source_sequence: '1' }]);
  for (const n of [4, 5]) await change(n);
  const { tenantId: _, ...unnamed } = changeEvent(tenantId, randomUUID(), 6);
  await audit.inTransaction(host.pool, unnamed);
  const relays = [relay(), relay()];
  for (const each of relays) each.start();
  await relays[0]?.drain();
  expect(await client.sources()).toMatchObject([
    { id: 'billing', lastSequence: 3, gaps: [], gapsDroppedAt: null },
    { id: 'billing/default', lastSequence: 0, gaps: [] },
  ]);
  const numbers: unknown[] = [];
  for await (const { source } of client.list({ resource: 'queue' })) numbers.push(source?.sequence);
  expect(numbers.sort()).toEqual([0, 0, 1, 2, 3]);
});
