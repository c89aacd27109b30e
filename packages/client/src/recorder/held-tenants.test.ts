import { randomUUID } from 'node:crypto';
import { appendFileSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BatchResult, type EventInput, IndelibleError, UnreachableError } from '../index.ts';
import { changeEvent } from '../outbox/testing/change-event.ts';
import { encodeRecords } from './spool-file.ts';
import { countingTo, recorderOf } from './testing/recorder-of.ts';

/*
 * Tenants whose log takes nothing for a while, as a damaged one does, beside others that are well.
 */

const [ann, ben, cy, di] = ['a', 'b', 'c', 'd'].map(() => randomUUID()) as [
  string,
  string,
  string,
  string,
];
const queueId = randomUUID();

/** What a service answers while the logs of some tenants take nothing, and what it has stored. */
function serviceWith(stuck: Set<string>, eventsMax = 1_000) {
  const stored = new Map<string, number[]>();
  const ids = new Set<string>();
  const resultOf = (text: string, index: number): BatchResult => {
    const { id, tenantId = '', diff } = JSON.parse(text) as EventInput & { id: string };
    const error = { code: 'unavailable', detail: 'the log is damaged' } as const;
    if (stuck.has(tenantId)) return { index, status: 'rejected', error };
    if (ids.has(id)) return { index, status: 'duplicate' };
    ids.add(id);
    stored.set(tenantId, [...(stored.get(tenantId) ?? []), Number(diff?.changes?.to)]);
    return { index, status: 'created' };
  };
  return {
    stored,
    calls: [] as number[],
    async recordBatchTexts(texts: readonly string[]): Promise<BatchResult[]> {
      this.calls.push(texts.length);
      if (texts.length <= eventsMax) return throughSome(texts.map(resultOf));
      const tooLarge = { status: 413, code: 'payload_too_large', detail: '', requestId: null };
      throw new IndelibleError(tooLarge as ConstructorParameters<typeof IndelibleError>[0]);
    },
  };
}

/** If nothing got through, the service refuses the call as a whole. */
function throughSome(results: BatchResult[]): BatchResult[] {
  if (results.length === 0 || results.some(({ error }) => error?.code !== 'unavailable')) {
    return results;
  }
  const detail = 'the log is damaged';
  throw new IndelibleError({ status: 503, code: 'unavailable', detail, requestId: null });
}

/** The files of the folder, except for locks. */
function filesIn(folder: string): string[] {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return all.filter((name) => !name.endsWith('lock') && statSync(join(folder, name)).isFile());
}

test.each([
  ['on disk', true],
  ['in memory', false],
])(
  'a tenant whose log takes nothing waits %s, in order, and holds up no other',
  async (_, onDisk) => {
    const order = fc.array(fc.constantFrom(ann, ben, cy, di), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(order, fc.integer({ min: 1, max: 5 }), async (tenants, batchMax) => {
        const stuck = new Set([ann, ben]);
        const client = serviceWith(stuck);
        const spoolFolder = newFolder();
        const { recorder } = recorderOf({
          client,
          batchMax,
          flushMs: 1,
          ...(onDisk ? { spoolFolder, durable: true } : {}),
        });
        const counts = new Map<string, number>();
        const expected = () => new Map([...counts].map(([tenant, n]) => [tenant, countingTo(n)]));
        const record = (tenant: string) => {
          counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
          recorder.record(changeEvent(tenant, queueId, counts.get(tenant) ?? 0));
        };
        for (const tenant of tenants) record(tenant);
        const waiting = tenants.filter((tenant) => stuck.has(tenant)).length;
        const { buffered, spooled, sent } = await recorder.flush();
        expect({ waiting: buffered + spooled, sent }).toEqual({
          waiting,
          sent: tenants.length - waiting,
        });
        for (const tenant of [cy, di])
          expect(client.stored.get(tenant)).toEqual(expected().get(tenant));
        stuck.delete(ben);
        for (const tenant of [di, ben, ann]) record(tenant);
        await recorder.flush();
        for (const tenant of [ben, di])
          expect(client.stored.get(tenant)).toEqual(expected().get(tenant));
        stuck.clear();
        expect(await recorder.flush()).toMatchObject({ buffered: 0, spooled: 0, rejected: 0 });
        expect(client.stored).toEqual(expected());
        expect(filesIn(spoolFolder)).toEqual(onDisk ? [expect.anything()] : []);
        expect(recorder.stats().spooledBytes).toBe(0);
      }),
      { numRuns: 25 },
    );
  },
);

test('waiting events are tried again by themselves, and go on as soon as they are taken', async () => {
  const stuck = new Set([ann]);
  const client = serviceWith(stuck);
  const { recorder } = recorderOf({ client, spoolFolder: newFolder(), durable: true, flushMs: 1 });
  const last = Promise.withResolvers<void>();
  const { recordBatchTexts } = client;
  client.recordBatchTexts = async function (texts) {
    if (this.calls.length === 2) stuck.clear();
    const results = await recordBatchTexts.call(this, texts);
    if (this.stored.get(ann)?.length === 2) last.resolve();
    return results;
  };
  for (const change of [1, 2]) recorder.record(changeEvent(ann, queueId, change));
  await last.promise;
  expect(client.stored.get(ann)).toEqual([1, 2]);
});

test('a tenant that waits, or all of them, go on by themselves, each of a hundred times', async () => {
  const away = new UnreachableError('away');
  const unavailable = { code: 'unavailable', detail: 'the log is damaged' } as const;
  const delivered = Array.from({ length: 100 }, async (_, nth) => {
    const stored = Promise.withResolvers<void>();
    let calls = 0;
    const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> => {
      calls += 1;
      if (calls === 1 && nth % 2 === 0) throw away;
      if (calls > 1) stored.resolve();
      return texts.map((_, index) =>
        calls === 1
          ? { index, status: 'rejected', error: unavailable }
          : { index, status: 'created' },
      );
    };
    const { recorder } = recorderOf({ client: { recordBatchTexts }, flushMs: 1 });
    recorder.record(changeEvent(cy, queueId, 1));
    await stored.promise;
  });
  await Promise.all(delivered);
}, 5_000);

test('events that wait survive the process, in order, and their files with them', async () => {
  const stuck = new Set([ann]);
  const client = serviceWith(stuck);
  const spoolFolder = newFolder();
  const options = { client, spoolFolder, durable: true, batchMax: 3, flushMs: 60_000 };
  const { recorder: first } = recorderOf(options);
  const large = { before: { script: 'x'.repeat(200_000) }, after: { script: 'y'.repeat(200_000) } };
  for (const change of countingTo(30)) {
    first.record({ ...changeEvent(cy, queueId, change), ...large });
    first.record(changeEvent(ann, queueId, change));
  }
  expect(first.stats().spooledBytes).toBeGreaterThan(10 * 2 ** 20);
  await first.flush();
  expect(first.stats()).toMatchObject({ spooled: 30, sent: 30 });
  expect(first.stats().spooledBytes).toBeGreaterThan(10 * 2 ** 20);
  await first.close({ timeoutMs: 1 });
  stuck.clear();
  const { recorder: next } = recorderOf(options);
  await next.flush();
  expect(client.stored).toEqual(
    new Map([
      [cy, countingTo(30)],
      [ann, countingTo(30)],
    ]),
  );
  await next.close();
  expect(filesIn(spoolFolder)).toEqual([]);
});

test('where a batch has to be halved, too, a tenant that waits holds up no other', async () => {
  const client = serviceWith(new Set([ann]), 3);
  const { recorder } = recorderOf({ client, spoolFolder: newFolder(), durable: true, batchMax: 8 });
  for (const change of countingTo(4)) {
    for (const tenant of [ann, cy]) recorder.record(changeEvent(tenant, queueId, change));
  }
  expect(await recorder.flush()).toMatchObject({ sent: 4, spooled: 4 });
  expect(client.stored.get(cy)).toEqual(countingTo(4));
});

test('a file that was cut, or taken away, costs what is gone and holds up nothing', async () => {
  const client = serviceWith(new Set());
  const spoolFolder = newFolder();
  const away = { recordBatchTexts: () => Promise.reject(new UnreachableError('away')) };
  for (const change of [1, 2, 3]) {
    const { recorder } = recorderOf({ client: away, spoolFolder });
    recorder.record(changeEvent(cy, queueId, change));
    await recorder.close({ timeoutMs: 1 });
  }
  const { recorder: next, told } = recorderOf({ client, spoolFolder });
  const [first = '', second = ''] = filesIn(spoolFolder).map((name) => join(spoolFolder, name));
  truncateSync(first, 5);
  rmSync(second);
  expect(await next.flush()).toMatchObject({ spooled: 0, spooledBytes: 0, sent: 1 });
  expect(told.warnings).toEqual([
    expect.stringContaining('bytes are gone or not a complete record'),
    expect.stringContaining('was set aside as'),
    expect.stringContaining('ENOENT'),
  ]);
});

test('a record that is whole but no JSON is refused like any other, and costs the others nothing', async () => {
  const spoolFolder = newFolder();
  const away = { recordBatchTexts: () => Promise.reject(new UnreachableError('away')) };
  const { recorder: first } = recorderOf({ client: away, spoolFolder });
  first.record(changeEvent(cy, queueId, 1));
  await first.close({ timeoutMs: 1 });
  const [path = ''] = filesIn(spoolFolder).map((name) => join(spoolFolder, name));
  appendFileSync(path, encodeRecords(['{"tenantId":']));
  const invalid = { code: 'validation_failed', detail: 'no JSON' } as const;
  const client = {
    recordBatchTexts: async (texts: readonly string[]): Promise<BatchResult[]> =>
      texts.map((text, index) =>
        text.endsWith(':')
          ? { index, status: 'rejected', error: invalid }
          : { index, status: 'created' },
      ),
  };
  const told: unknown[] = [];
  const onRejected = (event: EventInput, { code }: { code: string }) => told.push([event, code]);
  const { recorder: next } = recorderOf({ client, spoolFolder, onRejected });
  expect(await next.flush()).toMatchObject({ spooled: 0, sent: 1, rejected: 1 });
  expect(told).toEqual([[{}, 'validation_failed']]);
});
