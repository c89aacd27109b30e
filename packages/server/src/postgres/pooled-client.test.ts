import { once } from 'node:events';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { testService } from '@indelible/testing/service';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { readTenant } from './db.ts';
import { PooledClient } from './pooled-client.ts';

const service = await testService();

setFlagsFromString('--expose-gc');
const collect: (how: { type: 'minor' | 'major' }) => void = runInNewContext('gc');

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ??
  0;

test('short collections free the rows of answered queries', async () => {
  const { id } = await service.tenant();
  const text = 'SELECT n, md5(n::text) FROM generate_series(1, 1000) n';
  const ask = () =>
    readTenant(service.db, id, async (tx) => (await tx.query({ text })).rows.length);
  const askAndCollect = async (times: number) => {
    for (let n = 0; n < times; n++) {
      expect(await ask()).toBe(1_000);
      collect({ type: 'minor' });
    }
  };
  await askAndCollect(10); // until the code is compiled
  collect({ type: 'major' });
  const before = oldBytes();
  await askAndCollect(20);
  // An answer takes some 200 KB.
  expect(oldBytes() - before).toBeLessThan(1_000_000);
});

test('a query of a connection that has waited for work ends when its answer does not come', async () => {
  const connectionString = service.servingUrl;
  const client: pg.Client = new PooledClient({
    connectionString,
    query_timeout: 200,
    pipeline: true,
  });
  client.on('error', () => {});
  await client.connect();
  const idle = () => once(client.connection.stream, 'timeout');
  await idle();
  expect((await client.query('SELECT 1')).rowCount).toBe(1);
  await idle();
  const began = performance.now();
  await expect(client.query('SELECT pg_sleep(8)')).rejects.toThrow('Query read timeout');
  expect(performance.now() - began).toBeLessThan(4_000);
});
