import { afterAll, expect, test } from 'vitest';
import { readTenant } from '../postgres/index.ts';
import { recordAll } from '../testing/event-pool.ts';
import { eventOf, testService } from '../testing/service.ts';
import { type BlockQuery, countInBlocks, GroupCounts } from './index.ts';

const service = await testService();
afterAll(() => service.close());

test('values of events that are not counted are not kept: a tenant may have millions', async () => {
  const tenant = await service.tenant();
  const events = Array.from({ length: 256 }, (_, n) => {
    const resource = { type: `type_${n}`, id: tenant.id, name: null };
    return eventOf({ action: n === 0 ? 'login' : 'update', resource });
  });
  await recordAll(service, tenant.key, events);
  await service.app.background.run('words');
  const counts = new GroupCounts();
  const query: BlockQuery = {
    keys: ['resource'],
    starts: [],
    filter: { action: { any: ['login'], none: [] } },
    fromMs: 0,
    beforeMs: 2 ** 48 - 1,
  };
  await readTenant(service.db, tenant.id, (tx) => countInBlocks(tx, query, counts, 10_000));
  expect(counts.size).toBe(1);
  expect(counts.keys[0].values).toEqual(['type_0']);
});
