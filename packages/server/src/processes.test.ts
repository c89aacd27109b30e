import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
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
  const isEnded = stopped(worker).then(() => worker.isDead());
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
