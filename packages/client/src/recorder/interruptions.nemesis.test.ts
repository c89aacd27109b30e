import { appendFileSync } from 'node:fs';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { gateTo } from '../testing/gate.ts';
import { createRecorder } from './index.ts';
import { expire, locksIn } from './testing/locks.ts';
import { countingTo } from './testing/recorder-of.ts';
import { RecordingHost } from './testing/recording-host.ts';

/* What outlives the process that recorded it. */

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });

const newHost = () => RecordingHost.of(service, url);

/** Delivers the events of the spool, as the next process does a minute later; its warnings. */
async function deliverRest(host: RecordingHost): Promise<string[]> {
  const warnings: string[] = [];
  const { spoolFolder } = host;
  expire(locksIn(spoolFolder));
  const onWarning = ({ message }: Error) => warnings.push(message);
  const recorder = createRecorder({ client: host.client(), spoolFolder, onWarning });
  await recorder.flush();
  await recorder.close();
  expect(host.spoolFiles()).toEqual([]);
  return warnings;
}

test('kill -9 loses nothing that a durable recorder has taken', async () => {
  const host = await newHost();
  const child = host.process({ durable: true });
  child.tell({ record: { from: 1, to: 200, kill: true } });
  expect(await child.ended()).toEqual([null, 'SIGKILL']);
  expect(await deliverRest(host)).toEqual([]);
  expect(await host.recorded()).toEqual(countingTo(200));
});

test('kill -9 loses nothing that was spooled; a record that was cut short is told and blocks nothing', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const child = host.process({}, { url: gate.url });
  child.tell({ record: { from: 1, to: 20 } });
  await child.until('recorded');
  child.tell({ flush: true });
  expect(await child.until('flushed')).toMatchObject({ flushed: { spooled: 20, buffered: 0 } });
  child.signal('SIGKILL');
  await child.ended();
  const [file = ''] = host.spoolFiles();
  appendFileSync(file, '000001a4 12345678 {"id":"evt_audit_01');
  expect(await deliverRest(host)).toEqual([
    expect.stringContaining('not a complete record'),
    expect.stringContaining('was set aside as'),
  ]);
  expect(await host.recorded()).toEqual(countingTo(20));
});

test('a process that dies between answer and acknowledgement sends again, and records nothing twice', async () => {
  const host = await newHost();
  const child = host.process({ durable: true, flushMs: 1, batchMax: 3 });
  // It is killed while batches travel: some are stored and still on disk.
  child.tell({ record: { from: 1, to: 200 } });
  await child.until('recorded');
  while ((await host.changes()).length === 0);
  child.signal('SIGKILL');
  await child.ended();
  await deliverRest(host);
  expect(await host.recorded()).toEqual(countingTo(200));
});

test('processes share a folder: none sends what a living one holds, any sends what a dead one left', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const one = host.process({}, { url: gate.url });
  one.tell({ record: { from: 1, to: 5 }, flush: true });
  await one.until('flushed');
  const locks = locksIn(host.spoolFolder);
  const two = host.process({}, { url: gate.url });
  two.tell({ record: { from: 6, to: 10 }, flush: true });
  await two.until('flushed');
  const { spoolFolder } = host;
  const third = createRecorder({ client: host.client(), spoolFolder });
  expect(await third.flush()).toMatchObject({ sent: 0, spooled: 0 });
  await third.close();
  one.signal('SIGKILL');
  await one.ended();
  expire(locks);
  const heir = createRecorder({ client: host.client(), spoolFolder });
  expect(await heir.flush()).toMatchObject({ sent: 5 });
  await heir.close();
  expect(await host.recorded()).toEqual(countingTo(5));
  gate.open();
  two.said.length = 0;
  two.tell({ flush: true });
  expect(await two.until('flushed')).toMatchObject({ flushed: { sent: 5, spooled: 0 } });
  expect(await host.recorded()).toEqual(countingTo(10));
});

test.each(['by itself', 'process.exit'] as const)(
  'a process that ends %s leaves what it holds on disk',
  async (end) => {
    const host = await newHost();
    const gate = await gateTo(url);
    const child = host.process({ flushMs: 10 }, { url: gate.url });
    child.tell({ record: { from: 1, to: 7 }, end });
    expect(await child.ended()).toEqual([0, null]);
    await deliverRest(host);
    expect(await host.recorded()).toEqual(countingTo(7));
  },
);

test('SIGTERM with closeOnExit flushes, and then ends the process as it always does', async () => {
  const host = await newHost();
  const child = host.process({ flushMs: 60_000, closeOnExit: true });
  child.tell({ record: { from: 1, to: 7 } });
  await child.until('recorded');
  child.signal('SIGTERM');
  expect(await child.ended()).toEqual([null, 'SIGTERM']);
  expect(await host.recorded()).toEqual(countingTo(7));
});

test('a full disk costs no event that memory holds, and no record is cut in two', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  // The kernel itself refuses to let a file grow further, in the middle of a write.
  const limits = { url: gate.url, shell: 'ulimit -f 16' };
  const child = host.process({ eventsMax: 100, batchMax: 7, flushMs: 1 }, limits);
  for (let from = 1; from <= 180; from += 20) {
    child.said.length = 0;
    child.tell({ record: { from, to: from + 19 } });
    await child.until('recorded');
    child.tell({ flush: true });
    await child.until('flushed');
  }
  const { flushed } = (await child.until('flushed')) as { flushed: Record<string, number> };
  const { spooled = 0, buffered = 0, lost = 0 } = flushed;
  expect([spooled > 10, buffered, lost]).toEqual([true, 100, 80 - spooled]);
  gate.open();
  child.said.length = 0;
  child.tell({ flush: true });
  expect(await child.until('flushed')).toMatchObject({
    flushed: { spooled: 0, buffered: 0, lost },
  });
  expect(await host.recorded()).toEqual(countingTo(180 - lost));
  child.signal('SIGKILL');
});
