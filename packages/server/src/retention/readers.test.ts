import { parseListQuery } from '@indelible/protocol';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { listEvents } from '../events/list.store.ts';
import { requireVisible } from '../events/store.ts';
import { accepted } from '../http/query.ts';
import { readTenant } from '../postgres/db.ts';
import { expectRetainedIntact } from '../testing/intact.ts';
import {
  change,
  day,
  listed,
  partitionName,
  partitions,
  recordAt,
  run,
  tenantOf,
} from '../testing/retention-setup.ts';
import { testService } from '../testing/service.ts';

const service = await testService();
beforeEach(async () => {
  service.clock.now += day;
  await run(service);
});
afterAll(() => service.close());

test('an answer that has begun before events move keeps them, although their partition expires', {
  tags: 'plain',
}, async () => {
  const tenant = await tenantOf(service, 'Starter', 41);
  const { now } = service.clock;
  const old = now - 35 * day;
  const id = await recordAt(service, tenant, old);
  await change(service, tenant, { plan: 'Pro' });
  service.clock.now += day;
  const query = accepted(parseListQuery(new URLSearchParams('action=publish')));
  await readTenant(service.db, tenant.id, async (tx) => {
    const visible = await requireVisible(tx, now);
    const ran = await run(service, { retryMs: [], readersMs: 100 });
    expect(ran?.moved).toBeGreaterThan(0);
    expect((await listEvents(tx, query, visible, null)).rows).toHaveLength(1);
    expect(ran?.waiting).toContain(partitionName(0, old));
  });
  await run(service);
  expect(await partitions(service)).not.toContain(partitionName(0, old));
  expect(await listed(service, tenant)).toEqual([id]);
  await expectRetainedIntact(service, tenant.id);
});
