import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { platformKey, testService } from '@indelible/testing/service';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient, type EventInput, newEventId, UnreachableError } from '../index.ts';
import { gateTo } from '../testing/gate.ts';
import { listening } from '../testing/listening.ts';
import { scriptedService } from '../testing/scripted-service.ts';
import { createRecorder, type RecorderOptions } from './index.ts';
import { countingTo, recorderOf } from './testing/recorder-of.ts';
import { RecordingHost } from './testing/recording-host.ts';

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });

const newHost = () => RecordingHost.of(service, url);

test('events go in batches, by number and by time, and are found under the ids that record returned', async () => {
  const host = await newHost();
  const sizes: number[] = [];
  const { recordBatchTexts } = host.client();
  const client = {
    recordBatchTexts: (texts: readonly string[]) => {
      sizes.push(texts.length);
      return recordBatchTexts(texts);
    },
  };
  const { recorder } = recorderOf({ client, batchMax: 100, flushMs: 20 });
  const ids = countingTo(250).map((change) => recorder.record(host.event(change)));
  expect(recorder.stats()).toMatchObject({ buffered: 250, sent: 0 });
  expect(await recorder.flush()).toMatchObject({ buffered: 0, sent: 250, rejected: 0, lost: 0 });
  expect(sizes).toEqual([100, 100, 50]);
  expect(await host.recorded()).toEqual(countingTo(250));
  expect(await host.client().get(ids[249] ?? '')).toMatchObject({ diff: { changes: { to: 250 } } });
});

test('an event without a flush goes by itself', async () => {
  const host = await newHost();
  const sent = Promise.withResolvers<void>();
  const client = {
    recordBatchTexts: async (texts: readonly string[]) => {
      const results = await host.client().recordBatchTexts(texts);
      sent.resolve();
      return results;
    },
  };
  recorderOf({ client, flushMs: 5 }).recorder.record(host.event(1));
  await sent.promise;
  expect(await host.recorded()).toEqual([1]);
});

test('batches of several tenants travel at the same time, and the order of each is kept', async () => {
  const hosts = await Promise.all([newHost(), newHost(), newHost()]);
  const client = createClient({ url, key: platformKey });
  const { recorder } = recorderOf({ client, batchMax: 20, flushMs: 1 });
  for (const change of countingTo(120)) {
    for (const host of hosts) recorder.record(host.event(change));
    if (change % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await recorder.flush();
  for (const host of hosts) expect(await host.recorded()).toEqual(countingTo(120));
});

test('while the service is away events go to disk; when it is back they come first, in order', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const { spoolFolder } = host;
  const { recorder, told } = recorderOf({ client: host.client(gate.url), spoolFolder, flushMs: 5 });
  for (const change of countingTo(30)) recorder.record(host.event(change));
  expect(await recorder.flush()).toMatchObject({ buffered: 0, spooled: 30, sent: 0 });
  expect(told).toMatchObject({
    spooled: 1,
    warnings: [expect.stringContaining('cannot be reached')],
  });
  for (const change of countingTo(60).slice(30)) recorder.record(host.event(change));
  expect(await recorder.flush()).toMatchObject({ buffered: 0, spooled: 60, lost: 0 });
  gate.open();
  for (const change of countingTo(90).slice(60)) recorder.record(host.event(change));
  expect(await recorder.flush()).toMatchObject({
    buffered: 0,
    spooled: 0,
    sent: 90,
    spooledBytes: 0,
  });
  recorder.record(host.event(91));
  await recorder.flush();
  expect(await host.recorded()).toEqual(countingTo(91));
  await recorder.close();
  expect(host.spoolFiles()).toEqual([]);
});

test('a recorder without a spool bounds its memory, and tells and counts events without room', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const { recorder, told } = recorderOf({ client: host.client(gate.url), eventsMax: 10 });
  for (const change of countingTo(12)) recorder.record(host.event(change));
  expect(await recorder.flush()).toMatchObject({ buffered: 10, lost: 2 });
  expect(told.lost).toEqual([11, 12].map((change) => [change, 'buffer_full']));
  gate.open();
  expect(await recorder.flush()).toMatchObject({ buffered: 0, sent: 10, lost: 2 });
  expect(await host.recorded()).toEqual(countingTo(10));
});

test('memory is bounded in bytes too, and an overflow goes to disk rather than nowhere', async () => {
  const host = await newHost();
  const { spoolFolder } = host;
  const { recorder } = recorderOf({
    client: host.client(),
    spoolFolder,
    eventsMax: 50,
    bytesMax: 9_000,
  });
  for (const change of countingTo(200)) recorder.record(host.event(change));
  const { buffered, spooled } = recorder.stats();
  expect(buffered).toBeLessThanOrEqual(50);
  expect(buffered + spooled).toBe(200);
  expect(await recorder.flush()).toMatchObject({ sent: 200, lost: 0 });
  expect(await host.recorded()).toEqual(countingTo(200));
});

test('an event that the service refuses is told, and blocks no other', async () => {
  const host = await newHost();
  const { recorder, told } = recorderOf({ client: host.client() });
  const deep = (depth: number): object => (depth === 0 ? {} : { a: deep(depth - 1) });
  recorder.record(host.event(1));
  recorder.record({ ...host.event(2), action: 'No word' });
  recorder.record({ ...host.event(3), actor: { ...host.event(3).actor, ...deep(198) } });
  recorder.record(host.event(4));
  expect(await recorder.flush()).toMatchObject({ sent: 2, rejected: 2, buffered: 0 });
  expect(told.rejected).toEqual([
    [2, 'validation_failed'],
    [3, 'validation_failed'],
  ]);
  expect(await host.recorded()).toEqual([1, 4]);
});

test('record never throws: what is no event is told as refused', async () => {
  const host = await newHost();
  const { recorder, told } = recorderOf({ client: host.client() });
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  recorder.record({ ...host.event(1), after: cyclic });
  recorder.record({ ...host.event(2), before: { count: 1n } });
  recorder.record({ ...host.event(3), reason: 'x'.repeat(700_000) });
  expect(recorder.record(null as unknown as EventInput)).toMatch(/^evt_audit_/);
  const id = newEventId();
  expect(recorder.record({ ...host.event(4), id, before: { count: 1n } })).toBe(id);
  expect(told.rejected).toEqual([
    [1, 'validation_failed'],
    [2, 'validation_failed'],
    [3, 'payload_too_large'],
    [undefined, 'validation_failed'],
    [4, 'validation_failed'],
  ]);
  expect(recorder.stats()).toMatchObject({ rejected: 5, buffered: 0 });
});

/** A firewall before the service, which refuses bodies that look like an attack to it. */
async function firewallTo(target: string, { hangsUp = false } = {}) {
  const firewall = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (body.includes('<script>') && hangsUp) return void request.socket.destroy();
    if (body.includes('<script>')) {
      response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>');
      return;
    }
    const headers = { authorization: `${request.headers.authorization}`, ...json };
    const answer = await fetch(`${target}${request.url}`, { method: 'POST', headers, body });
    response.writeHead(answer.status, json).end(await answer.text());
  });
  const running = await listening(firewall);
  onTestFinished(running.close);
  return running.url;
}
const json = { 'content-type': 'application/json' };

test('an event that a firewall refuses is told, kept in a file, and blocks no other', async () => {
  const host = await newHost();
  const { spoolFolder } = host;
  const client = host.client(await firewallTo(url));
  const { recorder, told } = recorderOf({ client, spoolFolder });
  for (const change of countingTo(6)) {
    recorder.record({ ...host.event(change), ...(change === 3 && { reason: '<script>' }) });
  }
  expect(await recorder.flush()).toMatchObject({ sent: 5, rejected: 1, buffered: 0, spooled: 0 });
  expect(told.rejected).toEqual([[3, 'unexpected_answer']]);
  const [name = ''] = readdirSync(join(spoolFolder, 'set-aside'));
  const path = join(spoolFolder, 'set-aside', name);
  expect(told.warnings).toEqual([expect.stringContaining(`set aside in ${path}: 1 event`)]);
  expect(await host.recorded()).toEqual([1, 2, 4, 5, 6]);
  const { answer, event } = JSON.parse(readFileSync(path, 'utf8'));
  expect(answer).toMatchObject({ status: 403, message: expect.stringContaining('status 403') });
  await host.client().recordBatchTexts([JSON.stringify(event)]);
  expect(await host.recorded()).toEqual([1, 2, 4, 5, 6, 3]);
});

test('an event for which a firewall cuts the connection delays its tenant for a day, also over a restart, and is kept in a file then', async () => {
  const host = await newHost();
  const { spoolFolder } = host;
  const nowMs = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: nowMs });
  onTestFinished(() => void vi.useRealTimers());
  const client = host.client(await firewallTo(url, { hangsUp: true }));
  const { recorder, told } = recorderOf({ client, spoolFolder });
  for (const change of countingTo(12)) {
    recorder.record({ ...host.event(change), ...(change % 4 !== 1 && { reason: '<script>' }) });
  }
  expect(await recorder.flush()).toMatchObject({ sent: 1, rejected: 0, spooled: 11 });
  await recorder.close();
  vi.setSystemTime(nowMs + 24 * 3_600_000 + 1);
  const next = recorderOf({ client, spoolFolder });
  expect(await next.recorder.flush()).toMatchObject({ sent: 2, rejected: 9, spooled: 0 });
  expect([told.rejected, next.told.rejected.at(-1)]).toEqual([[], [12, 'unexpected_answer']]);
  expect(await host.recorded()).toEqual([1, 5, 9]);
  const [name = ''] = readdirSync(join(spoolFolder, 'set-aside'));
  const lines = readFileSync(join(spoolFolder, 'set-aside', name), 'utf8')
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line).event.diff.changes.to)).toEqual(
    countingTo(12).filter((change) => change % 4 !== 1),
  );
});

test('an event that a firewall refuses waits as long as no disk keeps it, and without a spool only the callback has it', async () => {
  const host = await newHost();
  const { spoolFolder } = host;
  writeFileSync(join(spoolFolder, 'set-aside'), '');
  const client = host.client(await firewallTo(url));
  const kept = recorderOf({ client, spoolFolder });
  const none = recorderOf({ client });
  for (const { recorder } of [kept, none]) {
    recorder.record({ ...host.event(1), reason: '<script>' });
    recorder.record(host.event(2));
    await recorder.flush();
  }
  expect(kept.recorder.stats()).toMatchObject({ sent: 1, rejected: 0, spooled: 1 });
  expect(kept.told.warnings).toEqual([
    expect.stringMatching(/set-aside.* takes no events: (ENOTDIR|EEXIST)/),
  ]);
  expect(none.recorder.stats()).toMatchObject({ sent: 1, rejected: 1, buffered: 0 });
  expect(none.told.rejected).toEqual([[1, 'unexpected_answer']]);
  rmSync(join(spoolFolder, 'set-aside'));
  expect(await kept.recorder.flush()).toMatchObject({ sent: 1, rejected: 1, spooled: 0 });
});

test('an event that is far too large is refused before its secrets are searched', async () => {
  const host = await newHost();
  const { recorder, told } = recorderOf({ client: host.client() });
  const members = Array.from({ length: 300_000 }, (_, n) => [
    `key ${n}`,
    { value: 'x'.repeat(40) },
  ]);
  const event = { ...host.event(1), after: Object.fromEntries(members) };
  const before = process.cpuUsage();
  recorder.record(event);
  const { user, system } = process.cpuUsage(before);
  expect(told.rejected).toEqual([[1, 'payload_too_large']]);
  expect(user + system).toBeLessThan(1_000_000);
});

test('record never throws, even for what cannot be looked at', async () => {
  const host = await newHost();
  const { recorder, told } = recorderOf({ client: host.client() });
  for (const thrown of [null, Object.create(null)]) {
    const get = () => {
      throw thrown;
    };
    const unreadable = Object.defineProperty(host.event(1), 'after', { enumerable: true, get });
    const closed = new Proxy(host.event(2), { get, ownKeys: get });
    for (const event of [unreadable, closed]) expect(recorder.record(event)).toMatch(/^evt_audit_/);
  }
  expect(told.rejected).toEqual(Array(4).fill([undefined, 'validation_failed']));
});

test('a callback that fails, at once or later, is a warning and ends no process', async () => {
  const host = await newHost();
  const warned: string[] = [];
  const listen = ({ message }: Error) => warned.push(message);
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
  const failures = [() => Promise.reject(new Error('later')), () => Promise.reject(null)];
  const atOnce = () => {
    throw Object.create(null);
  };
  for (const onRejected of [...failures, atOnce]) {
    const { recorder } = recorderOf({ client: host.client(), onRejected });
    recorder.record({ ...host.event(1), before: { count: 1n } });
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(warned.map((each) => each.replace(/^.*failed: /, ''))).toEqual([
    'something was thrown that has no text',
    'later',
    'null',
  ]);
});

test('options that are undefined are as if they were not there', async () => {
  const host = await newHost();
  const warned = once(process, 'warning');
  const options = { flushMs: undefined, spoolBytesMax: undefined, onRejected: undefined };
  const recorder = createRecorder({ client: host.client(), ...(options as object) });
  recorder.record({ ...host.event(1), action: 'No word' });
  expect(await recorder.close()).toMatchObject({ rejected: 1 });
  const [{ message }] = await warned;
  expect(message).toMatch(/was refused: .*\/action is not a snake_case word/);
});

test('an event is recorded as it was when it was handed over', async () => {
  const host = await newHost();
  const { recorder } = recorderOf({ client: host.client() });
  const event = host.event(1);
  recorder.record(event);
  Object.assign(event.diff?.changes ?? {}, { to: 7 });
  await recorder.flush();
  expect(await host.recorded()).toEqual([1]);
});

test('a refused key keeps the events and says so; with a good one they are delivered', async () => {
  const host = await newHost();
  const { spoolFolder } = host;
  let client = createClient({ url, key: 'idl_wrong' });
  const changing = {
    recordBatchTexts: (texts: readonly string[]) => client.recordBatchTexts(texts),
  };
  const { recorder, told } = recorderOf({ client: changing, spoolFolder });
  recorder.record(host.event(1));
  expect(await recorder.flush()).toMatchObject({ spooled: 1, sent: 0, rejected: 0 });
  recorder.record(host.event(2));
  expect(await recorder.flush()).toMatchObject({ spooled: 2, sent: 0 });
  expect(told.warnings).toHaveLength(2);
  client = host.client();
  expect(await recorder.flush()).toMatchObject({ spooled: 0, sent: 2 });
  expect(await host.recorded()).toEqual([1, 2]);
});

test('a service that does not answer is not waited for: what was sent is on disk meanwhile', async () => {
  const host = await newHost();
  const silent = await scriptedService([{ silent: true }]);
  const spooled = Promise.withResolvers<void>();
  const { recorder } = recorderOf({
    client: host.client(silent.url),
    spoolFolder: host.spoolFolder,
    flushMs: 1,
    spoolAfterMs: 20,
    onSpooled: spooled.resolve,
  });
  const id = recorder.record(host.event(1));
  await spooled.promise;
  expect(recorder.stats()).toMatchObject({ buffered: 0, spooled: 1 });
  expect(host.spooledText()).toContain(id);
});

test('a call that fails after its events went to disk is a failure too: they are not sent again at once', async () => {
  const host = await newHost();
  const [spooled, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let calls = 0;
  const recordBatchTexts = async (texts: readonly string[]) => {
    calls += texts.length;
    await spooled.promise;
    throw new UnreachableError('no answer');
  };
  const { recorder } = recorderOf({
    client: { recordBatchTexts },
    spoolFolder: host.spoolFolder,
    flushMs: 1,
    spoolAfterMs: 1,
    onSpooled: spooled.resolve,
    onWarning: () => failed.resolve(),
  });
  recorder.record(host.event(1));
  await failed.promise;
  expect(calls).toBe(1);
});

test('a durable recorder has an event on disk, without its secrets, before record returns', async () => {
  const host = await newHost();
  const { spoolFolder } = host;
  const { recorder } = recorderOf({ client: host.client(), spoolFolder, durable: true });
  const { diff: _, ...event } = host.event(1);
  const id = recorder.record({ ...event, after: { sip: { password: 'hunter2' }, seats: 3 } });
  expect(host.spooledText()).toContain(id);
  expect(host.spooledText()).not.toContain('hunter2');
  await recorder.flush();
  expect(host.spooledText()).toBe('');
  expect((await host.client().get(id)).after).toEqual({ sip: { password: '[masked]' }, seats: 3 });
  expect(() => createRecorder({ client: host.client(), durable: true })).toThrow(TypeError);
});

test('a spool that is full is like none: memory, then a loss that is told; nothing is out of order', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const { recorder, told } = recorderOf({
    client: host.client(gate.url),
    spoolFolder: host.spoolFolder,
    spoolBytesMax: 4_000,
    eventsMax: 10,
    batchMax: 2,
    flushMs: 1,
  });
  for (const change of countingTo(60)) {
    recorder.record(host.event(change));
    if (change % 10 === 0) await recorder.flush();
  }
  const { spooled, buffered, lost, spooledBytes } = recorder.stats();
  expect(spooledBytes).toBeLessThanOrEqual(4_000);
  expect([spooled > 0, buffered, lost]).toEqual([true, 10, 50 - spooled]);
  expect(told.lost).toHaveLength(lost);
  expect(told.warnings).toContain(
    `the spool folder ${host.spoolFolder} takes no events: it is full (spoolBytesMax: 4000). ` +
      'Until it does, new events wait only in memory',
  );
  gate.open();
  expect(await recorder.flush()).toMatchObject({ buffered: 0, spooled: 0, lost });
  expect(await host.recorded()).toEqual(countingTo(60 - lost));
});

test('a folder that cannot be written is told at the start, not when the service is away', async () => {
  const host = await newHost();
  const client = host.client();
  const spoolFolder = `${host.spoolFolder}/volume`;
  symlinkSync(`${host.spoolFolder}/not/mounted`, spoolFolder);
  const { told } = recorderOf({ client, spoolFolder, source: 'app' });
  expect(told.warnings).toEqual([
    expect.stringMatching(/^the numbers of the source app cannot be kept on disk: ENOENT.*mkdir/),
    expect.stringMatching(/^the spool folder .*\/volume takes no events: ENOENT/),
  ]);
  expect(() => createRecorder({ client, spoolFolder: '' })).toThrow('spoolFolder is empty');
});

test('while the disk fails, a caller does not pay for another attempt to write', async () => {
  const host = await newHost();
  const noFolder = `${host.spoolFolder}/file`;
  writeFileSync(noFolder, '');
  const gate = await gateTo(url);
  /** Processor time of recording more than memory holds, in microseconds. */
  const cost = (options: Partial<RecorderOptions>) => {
    const limits = { eventsMax: 1_000, flushMs: 60_000, batchMax: 1_000 };
    const { recorder } = recorderOf({ client: host.client(gate.url), ...limits, ...options });
    const event = { ...host.event(1), reason: 'x'.repeat(900) };
    const before = process.cpuUsage();
    for (const _ of countingTo(2_000)) recorder.record(event);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const without = Math.max(cost({}), cost({}));
  expect(cost({ spoolFolder: noFolder })).toBeLessThan(4 * without);
  expect(cost({ spoolFolder: noFolder, durable: true })).toBeLessThan(4 * without);
});

test('while the disk fails, an answer that takes long still counts, and nothing is sent twice', async () => {
  const host = await newHost();
  const noFolder = `${host.spoolFolder}/file`;
  writeFileSync(noFolder, '');
  const failed = Promise.withResolvers<void>();
  const sizes: number[] = [];
  const client = {
    recordBatchTexts: async (texts: readonly string[]) => {
      sizes.push(texts.length);
      await failed.promise;
      return host.client().recordBatchTexts(texts);
    },
  };
  const options = { client, spoolFolder: noFolder, flushMs: 1, spoolAfterMs: 1 };
  const { recorder } = recorderOf({
    ...options,
    onWarning: ({ message }) => {
      if (sizes.length > 0 && message.includes('takes no events')) failed.resolve();
    },
  });
  for (const change of countingTo(3)) recorder.record(host.event(change));
  await failed.promise;
  expect(await recorder.flush()).toMatchObject({ buffered: 0, sent: 3, lost: 0 });
  expect(sizes).toEqual([3]);
  expect(await host.recorded()).toEqual([1, 2, 3]);
});

test('closing ends a call without an answer, so that the process can end', async () => {
  const host = await newHost();
  const [asked, hungUp] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const silent = createServer((_, response) => {
    asked.resolve();
    response.on('close', hungUp.resolve);
  });
  const running = await listening(silent);
  onTestFinished(running.close);
  const { recorder } = recorderOf({ client: host.client(running.url), flushMs: 1 });
  recorder.record(host.event(1));
  await asked.promise;
  expect(await recorder.close({ timeoutMs: 1 })).toMatchObject({ lost: 1 });
  await hungUp.promise;
});

test('closing leaves the rest to the spool, and the next recorder delivers it first', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const { spoolFolder } = host;
  const away = recorderOf({ client: host.client(gate.url), spoolFolder });
  away.recorder.record(host.event(1));
  expect(await away.recorder.close()).toMatchObject({ buffered: 0, lost: 0 });
  away.recorder.record(host.event(2)); // a request that was still running when the host stopped
  expect(away.told.lost).toEqual([]);
  const next = recorderOf({ client: host.client(), spoolFolder });
  expect(next.recorder.stats().spooled).toBe(2);
  next.recorder.record(host.event(3));
  expect(await next.recorder.flush()).toMatchObject({ sent: 3 });
  expect(await host.recorded()).toEqual([1, 2, 3]);
});

test('closing without a spool tells what is lost by it', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const { recorder, told } = recorderOf({ client: host.client(gate.url) });
  recorder.record(host.event(1));
  expect(await recorder.close()).toMatchObject({ buffered: 0, lost: 1 });
  recorder.record(host.event(2));
  expect(told.lost).toEqual([
    [1, 'closed'],
    [2, 'closed'],
  ]);
});

test('a spool is readable by its owner alone, in lines that begin with length and checksum', async () => {
  const host = await newHost();
  const gate = await gateTo(url);
  const { recorder } = recorderOf({ client: host.client(gate.url), spoolFolder: host.spoolFolder });
  recorder.record(host.event(1));
  await recorder.flush();
  const [path = ''] = host.spoolFiles();
  expect(readFileSync(path, 'utf8')).toMatch(/^[0-9a-f]{8} [0-9a-f]{8} \{.*\}\n$/);
});
