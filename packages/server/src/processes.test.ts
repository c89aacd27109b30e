import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { SharedMetrics } from './operations/shared-metrics.ts';
import { stopped } from './processes.ts';

const workers: Worker[] = [];

/** A process that runs these lines. */
function fork(lines: string, env = {}): Worker {
  const exec = join(mkdtempSync(join(tmpdir(), 'process-')), 'process.mjs');
  writeFileSync(exec, lines);
  cluster.setupPrimary({ exec, execArgv: [] });
  const worker = cluster.fork(env);
  worker.on('error', () => {});
  workers.push(worker);
  return worker;
}

afterEach(() => {
  for (const worker of workers.splice(0)) worker.process.kill('SIGKILL');
});

test('a message that does not reach an ending process is not taken for its end', async () => {
  const worker = fork(
    `process.on('SIGTERM', () => process.send('ending'));
     process.on('message', () => process.exit());
     process.send('ready');`,
  );
  await once(worker, 'message');
  const isEnded = stopped(worker, 25_000).then(() => worker.isDead());
  await once(worker, 'message');
  worker.emit('error', new Error('write EPIPE'));
  worker.send('end');
  expect(await isEnded).toBe(true);
});

test('a frozen process is killed when its time to end is over', async () => {
  const worker = fork("process.on('message', () => {}); process.send('ready');");
  await once(worker, 'message');
  worker.process.kill('SIGSTOP');
  await stopped(worker, 50);
  expect(worker.process.signalCode).toBe('SIGKILL');
});

const counting = `
  import { Counter, Gauge, Registry } from '${import.meta.resolve('prom-client')}';
  import { metricsText } from '${import.meta.resolve('./operations/metrics-text.ts')}';
  const registers = [new Registry()];
  new Counter({ name: 'counted', help: 'x', registers }).inc(Number(process.env.COUNT));
  new Gauge({ name: 'waiting', help: 'x', registers }).set(1);
  const read = metricsText(registers[0]);
  process.on('message', (message) => {
    if (message.scrape) read().then((scraped) => process.send({ scraped }));
  });`;

test('metrics of several processes are answered by those that are there, and no counter drops', async () => {
  const metrics = new SharedMetrics();
  const start = async (count: number) => {
    const worker = fork(counting, { COUNT: count });
    metrics.watch(worker);
    await once(worker, 'message');
    return worker;
  };
  const scraped = async (worker: Worker) => {
    const text = new Promise<string>((resolve) => {
      worker.on('message', (message) => 'scraped' in message && resolve(message.scraped));
    });
    worker.send({ scrape: true });
    const find = async (name: string) =>
      Number(RegExp(`^${name} (.+)$`, 'm').exec(await text)?.[1]);
    return { counted: await find('counted'), waiting: await find('waiting') };
  };
  const [one, other] = [await start(1), await start(20)];
  expect(await scraped(one)).toEqual({ counted: 21, waiting: 2 });

  other.process.kill('SIGSTOP');
  const during = scraped(one);
  const isEnded = once(other, 'exit');
  other.process.kill('SIGKILL');
  expect((await during).counted).toBe(21);
  await isEnded;
  expect(await scraped(one)).toEqual({ counted: 21, waiting: 1 });

  const replacing = await start(300);
  expect(await scraped(replacing)).toEqual({ counted: 321, waiting: 2 });
  replacing.process.kill('SIGSTOP');
  expect(await scraped(one)).toEqual({ counted: 321, waiting: 2 });
});
