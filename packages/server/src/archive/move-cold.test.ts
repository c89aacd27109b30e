import { afterAll, expect, test } from 'vitest';
import { archiveOf } from '../testing/archived.ts';
import { recordAll } from '../testing/event-pool.ts';
import { day, recordAt, tenantOf } from '../testing/retention-setup.ts';
import { eventOf, testService } from '../testing/service.ts';

const service = await testService();
afterAll(() => service.close());

test('an event that left PostgreSQL is found by its id, and in lists across the boundary', async () => {
  const tenant = await tenantOf(service, 'Enterprise', 300);
  const ids: string[] = [];
  for (const daysAgo of [290, 200, 100, 1]) {
    ids.push(await recordAt(service, tenant, service.clock.now - daysAgo * day));
  }
  // The newest 256 entries, whose words are in no block, stay in PostgreSQL.
  const recent = Array.from({ length: 300 }, () => eventOf({ action: 'access' }));
  await recordAll(service, tenant.key, recent);
  await service.app.background.run('words');
  const read = (url: string) => service.call({ url, key: tenant.key });
  const before = await read('/api/audit-logs?action=publish&limit=3');
  const single = await read(`/api/audit-logs/${ids[0]}`);
  for (let run = 0; run < 2; run += 1) {
    const { problem } = await archiveOf(service, tenant.id, { hotMonths: 4 });
    expect(problem).toBe(null);
  }
  const { rows } = await service.owner.query(
    `SELECT count(*)::int AS count FROM audit_events WHERE tenant_id = $1 AND action = 'publish'`,
    [tenant.id],
  );
  expect(rows[0].count).toBe(2);
  const after = await read('/api/audit-logs?action=publish&limit=3');
  expect(after.body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(1).reverse());
  expect(after.text).toBe(before.text);
  expect((await read(`/api/audit-logs/${ids[0]}`)).body).toEqual(single.body);
  const next = await read(
    `/api/audit-logs?action=publish&limit=3&cursor=${after.body.pagination.nextCursor}`,
  );
  expect(next.body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 1));
});
