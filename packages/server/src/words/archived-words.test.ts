import { rename } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { moveToArchive, rowsOf, tenantOfMonths } from '../testing/cold.ts';
import { eraseNow } from '../testing/erasure-setup.ts';
import { recordMany } from '../testing/event-pool.ts';
import { serviceOn, testService } from '../testing/service.ts';

/* Words of events that have left PostgreSQL. */

const service = await testService();
const tenant = await tenantOfMonths(service, 60);

const words = ['queue', 'user3', 'ivr', 'example'];
const get = async (query: string) => {
  const url = `/api/audit-logs${query}`;
  const { status, body } = await service.call({ url, key: tenant.key });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body;
};
const idsWith = async (word: string): Promise<string[]> =>
  (await get(`?limit=500&q=${word}`)).data.map(({ id }: { id: string }) => id);
const answers = () => Promise.all(words.map(idsWith));

/** As a migration does whose blocks have more. */
async function makeBlocksAnew({ background } = service.app) {
  await service.owner.query('TRUNCATE word_heads, word_blocks, word_lists');
  await background.run('words');
}

test('blocks that are made anew have the words of archived events', async () => {
  const before = await answers();
  const all = await rowsOf(service, tenant);
  await moveToArchive(service, tenant);
  expect(await rowsOf(service, tenant)).toBeLessThan(all - 20);
  await makeBlocksAnew();
  expect(await answers()).toEqual(before);
});

test('they have none of the words that are erased there', async () => {
  await eraseNow(service, { tenantId: tenant.id, actor: 'user3@example.com' });
  const left = await answers();
  expect(left[1]).toEqual([]);
  expect(left[3]?.length).toBeGreaterThan(20);
  await moveToArchive(service, tenant);
  await makeBlocksAnew();
  expect(await answers()).toEqual(left);
});

test('a tenant whose archive is not there keeps none of the others waiting', async () => {
  const before = await answers();
  const others = await Promise.all([1, 2, 3].map(() => service.tenant()));
  for (const { key } of others) await recordMany(service, key, 256);
  const archive = `${service.dataDir}/objects/archive`;
  await rename(archive, `${archive}-gone`);
  const withoutCopies = await serviceOn(service.servingUrl, service.clock);
  await makeBlocksAnew(withoutCopies.app);
  const { rows } = await service.owner.query('SELECT tenant_id AS id FROM word_heads');
  expect(rows.map(({ id }) => id).sort()).toEqual(others.map(({ id }) => id).sort());
  const { payload } = await withoutCopies.app.http.inject('/metrics');
  expect(payload).toContain('indelible_background_runs_total{work="words",outcome="failed"} 1');
  await rename(`${archive}-gone`, archive);
  await withoutCopies.app.background.run('words');
  expect(await answers()).toEqual(before);
  await withoutCopies.close();
});

test('more tenants whose blocks cannot be made than a round has keep none waiting', async () => {
  const broken = await Promise.all(Array.from({ length: 250 }, () => service.tenant()));
  const ids = broken.map(({ id }) => id);
  await service.owner.query('UPDATE log_heads SET size = 256 WHERE tenant_id = ANY ($1)', [ids]);
  const damage = 'UPDATE log_tail SET entry = $2 WHERE tenant_id = ANY ($1)';
  await service.owner.query(damage, [ids, Buffer.alloc(60, 0xff)]);
  const other = await service.tenant();
  await recordMany(service, other.key, 256);
  await service.app.background.run('words');
  const ofBlocks = 'SELECT entries::int FROM word_blocks WHERE tenant_id = $1';
  expect((await service.owner.query(ofBlocks, [other.id])).rows).toEqual([{ entries: 256 }]);
});
