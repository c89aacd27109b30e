import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { readTenant } from '../postgres/db.ts';
import { recordAll } from '../testing/event-pool.ts';
import { eventOf, testService } from '../testing/service.ts';
import type { BlockQuery } from './count-block.ts';
import { blocksToCount, countInBlocks } from './count-values.ts';
import { GroupCounts } from './group-counts.ts';

const service = await testService();

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
  await readTenant(service.db, tenant.id, async (tx) =>
    countInBlocks(tx, await blocksToCount(tx, query), counts, 10_000),
  );
  expect(counts.size).toBe(1);
  expect(counts.keys[0].values).toEqual(['type_0']);
});

test('the values of a block are not read where no event has the wanted user', async () => {
  const tenant = await service.tenant();
  const users = [randomUUID(), randomUUID()] as const;
  for (const id of users) {
    const actor = { id, email: null, role: 'admin' };
    await recordAll(service, tenant.key, Array(256).fill(eventOf({ actor })));
  }
  await service.app.background.run('words');
  // A list that cannot be read.
  const { rowCount } = await service.owner.query(
    `UPDATE word_lists SET words = '\\xff' WHERE tenant_id = $1 AND first = 0 AND list = 16`,
    [tenant.id],
  );
  expect(rowCount).toBe(1);
  const url = `/api/audit-logs/stats?group_by=action&user=${users[1]}`;
  const { body } = await service.call({ url, key: tenant.key });
  expect([body.detail, body.total]).toEqual([undefined, 256]);
});
