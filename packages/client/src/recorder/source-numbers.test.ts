import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, onTestFinished, test } from 'vitest';
import type { BatchResult } from '../index.ts';
import { changeEvent } from '../outbox/testing/change-event.ts';
import { createRecorder, type RecorderOptions } from './index.ts';
import { expire, locksIn } from './testing/locks.ts';

const [ann, ben] = [randomUUID(), randomUUID()];
const queueId = randomUUID();

type Stamp = { id: string; sequence: number } | undefined;

/** A recorder, and the stamps that its service has received, by tenant. */
function numbering(options: Partial<RecorderOptions>) {
  const stamps = new Map<string, Stamp[]>();
  const recordBatchTexts = async (texts: readonly string[]): Promise<BatchResult[]> =>
    texts.map((text, index) => {
      const { tenantId, source } = JSON.parse(text);
      stamps.set(tenantId, [...(stamps.get(tenantId) ?? []), source]);
      return { index, status: 'created' };
    });
  const recorder = createRecorder({ client: { recordBatchTexts }, source: 'billing', ...options });
  onTestFinished(async () => void (await recorder.close({ timeoutMs: 1 })));
  const record = async (tenantId: string, times = 1) => {
    for (let n = 0; n < times; n++) recorder.record(changeEvent(tenantId, queueId, n));
    await recorder.flush();
  };
  const numbersOf = (tenantId: string) => stamps.get(tenantId)?.map((stamp) => stamp?.sequence);
  const idsOf = (tenantId: string) => new Set(stamps.get(tenantId)?.map((stamp) => stamp?.id));
  return { recorder, record, numbersOf, idsOf };
}

const upTo = (last: number) => Array.from({ length: last + 1 }, (_, at) => at);

test('each tenant has numbers of its own, which continue after a clean end', async () => {
  const spoolFolder = newFolder();
  const first = numbering({ spoolFolder });
  await first.record(ann, 150);
  await first.record(ben, 2);
  await first.recorder.close();
  const second = numbering({ spoolFolder });
  await second.record(ben);
  await second.record(ann, 2);
  expect(first.numbersOf(ann)).toEqual(upTo(149));
  expect(first.numbersOf(ben)).toEqual([0, 1]);
  expect(second.numbersOf(ann)).toEqual([150, 151]);
  expect(second.numbersOf(ben)).toEqual([2]);
  expect(second.idsOf(ann)).toEqual(first.idsOf(ben));
  expect([...first.idsOf(ann)]).toEqual([expect.stringMatching(/^billing\/[0-9a-f]{26}$/)]);
});

test('events without a tenant share no numbers with those that name the same one', async () => {
  const { recorder, record, numbersOf, idsOf } = numbering({ spoolFolder: newFolder() });
  const { tenantId, ...unnamed } = changeEvent(ann, queueId, 1);
  recorder.record(unnamed);
  await record(tenantId ?? '', 2);
  const [id] = idsOf(ann);
  expect(numbersOf(ann)).toEqual([0, 1]);
  expect([...idsOf(undefined as never)]).toEqual([`${id}/default`]);
});

/** Gives three numbers for the tenant, and dies without an end. */
const killed = (root: string, tenantId: string) => `
  import { SourceNumbers } from ${JSON.stringify(import.meta.resolve('./source-numbers.ts'))};
  const numbers = new SourceNumbers('billing', ${JSON.stringify(root)}, () => {});
  for (const tenantId of Array(3).fill(${JSON.stringify(tenantId)})) numbers.stamp(tenantId);
  process.kill(process.pid, 'SIGKILL');`;

test('after a kill the rest of its block is missing, because its events may be', async () => {
  const spoolFolder = newFolder();
  const child = spawnSync(process.execPath, [
    '--input-type=module',
    '--eval',
    killed(spoolFolder, ann),
  ]);
  expect(child.signal, String(child.stderr)).toBe('SIGKILL');
  expire(locksIn(spoolFolder));
  const next = numbering({ spoolFolder });
  await next.record(ann);
  expect(next.numbersOf(ann)).toEqual([100]);
});

test('recorders at the same time are two instances, also on one folder or without one', async () => {
  const spoolFolder = newFolder();
  const all = [{ spoolFolder }, { spoolFolder }, {}, {}].map(numbering);
  for (const { record, numbersOf } of all) {
    await record(ann, 2);
    expect(numbersOf(ann)).toEqual([0, 1]);
  }
  expect(new Set(all.flatMap(({ idsOf }) => [...idsOf(ann)])).size).toBe(4);
});

test('a recorder whose folder was lost goes on as another instance, and says so', async () => {
  const spoolFolder = newFolder();
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => warnings.push(message);
  const { record, numbersOf, idsOf } = numbering({ spoolFolder, onWarning });
  await record(ann, 2);
  const root = join(spoolFolder, 'sources', 'billing');
  for (const name of readdirSync(root)) renameSync(join(root, name), join(root, 'gone'));
  await record(ann, 100);
  expect(warnings).toHaveLength(1);
  expect(numbersOf(ann)).toEqual([...upTo(99), 0, 1]);
  expect(idsOf(ann).size).toBe(2);
});

test('only a recorder with a source numbers events, and a number of the host product stays', async () => {
  const { record, numbersOf } = numbering({ source: undefined as never });
  await record(ann);
  expect(numbersOf(ann)).toEqual([undefined]);
  const own = numbering({});
  own.recorder.record({ ...changeEvent(ann, queueId, 1), source: { id: 'own', sequence: 7 } });
  await own.recorder.flush();
  expect([...own.idsOf(ann)]).toEqual(['own']);
  expect(() => numbering({ source: 'a/b' })).toThrow(TypeError);
});
