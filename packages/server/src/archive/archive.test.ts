import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { archiveNow, duckDb } from '../testing/archived.ts';
import { eventOf, testService } from '../testing/service.ts';

const service = await testService();
afterAll(() => service.close());

const recordMany = async (key: string, count: number, changes: Record<string, unknown> = {}) => {
  const events = Array.from({ length: count }, () => eventOf(changes));
  const url = '/api/audit-logs/batch';
  const { status, body } = await service.call({ method: 'POST', url, key, body: { events } });
  expect(status).toBe(200);
  return body.results as { id: string; sequence: number }[];
};

test('a run puts every event of an Enterprise tenant into Parquet that DuckDB reads', async () => {
  const { id, key } = await service.tenant();
  await recordMany(key, 20);
  const [outcome] = (await archiveNow(service)).filter(({ tenantId }) => tenantId === id);
  expect(outcome?.problem).toBe(null);
  expect(outcome?.segments).toHaveLength(1);
  const folder = join(service.dataDir, 'objects/archive');
  const rows = await duckDb(
    `SELECT count(*) AS n, min(sequence) AS first, max(sequence) AS last FROM '${folder}/tenant=${id}/*/*/*[0-9].parquet'`,
  );
  expect(rows).toEqual([{ n: '22', first: '0', last: '21' }]);
  console.log(readFileSync(join(service.dataDir, 'objects', outcome?.segments[0]?.stem.replace(/\/(?=\d+-)/, '/_') + '.json'), 'utf8'));
});
