import cluster from 'node:cluster';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stopped } from './processes.ts';

test('a message that does not reach an ending process is not taken for its end', async () => {
  const exec = join(mkdtempSync(join(tmpdir(), 'process-')), 'slow-to-end.mjs');
  writeFileSync(
    exec,
    `process.on('SIGTERM', () => process.send('ending'));
     process.on('message', () => process.exit());
     process.send('ready');`,
  );
  cluster.setupPrimary({ exec, execArgv: [] });
  const worker = cluster.fork();
  worker.on('error', () => {});
  await once(worker, 'message');
  const isEnded = stopped(worker).then(() => worker.isDead());
  await once(worker, 'message');
  worker.emit('error', new Error('write EPIPE'));
  worker.send('end');
  expect(await isEnded).toBe(true);
});
