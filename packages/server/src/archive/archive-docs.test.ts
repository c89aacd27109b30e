import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { archiveOf } from '@indelible/testing/archived';
import { recordAll } from '@indelible/testing/event-pool';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const service = await testService();

const document = readFileSync(join(import.meta.dirname, '../../../../docs/archive.md'), 'utf8');
const queries = [...document.matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql);

const { id, key } = await service.tenant();
await recordAll(service, key, [eventOf(), eventOf(), eventOf({ action: 'delete' })]);
await archiveOf(service, id);

/** The rows of a query, as DuckDB reads them from the archive. */
async function duckDb(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const result = await connection.runAndReadAll(sql);
    return result.getRowObjectsJson();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Runs the documented query with the archive and tenant of this test. */
const run = (sql = '') =>
  duckDb(
    sql
      .replaceAll('data/objects', join(service.dataDir, 'objects'))
      .replaceAll('018f3a6e-5d1b-7c42-9a10-3f6e2b8d4c01', id),
  );

test('each query for DuckDB in docs/archive.md answers what it is said to', async () => {
  expect(queries).toHaveLength(3);
  const [often, who, fields] = [
    await run(queries[0]),
    await run(queries[1]),
    await run(queries[2]),
  ];
  const now = new Date(service.clock.now);
  expect(often).toContainEqual({
    year: String(now.getUTCFullYear()),
    month: String(now.getUTCMonth() + 1).padStart(2, '0'),
    action: 'update',
    resource_type: 'queue',
    events: '2',
  });
  expect(who).toHaveLength(3);
  expect(who[0]).toMatchObject({
    actor_email: 'ana@example.com',
    resource_name: 'Support',
    diff: '{"maxWait":{"from":30,"to":60}}',
  });
  expect(fields).toHaveLength(3);
  expect(fields[0]).toMatchObject({ before: '30', after: '60' });
});
