import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../postgres/migrate.ts';
import { placeFor, recordAt } from '../testing/retention-setup.ts';
import { eventOf, type TestService, testService } from '../testing/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await testService();
});
afterAll(() => service.close());

/**
 * Every event of the tenant refuses a byte more and a salt less; who owns the table can tell why.
 */
async function expectSaltsFixed(tenantId: string) {
  const changes = [
    "salts || '\\x00'",
    "''",
    'substr(salts, 1, 32)',
    'salts || substr(salts, 1, 16)',
  ];
  for (const changed of changes) {
    const change = service.owner.query(
      `UPDATE audit_events SET salts = ${changed} WHERE tenant_id = $1`,
      [tenantId],
    );
    await expect(change, changed).rejects.toMatchObject({ constraint: 'salts_of_segments' });
  }
}

test('no event has salts of another length than its segments need, in whatever partition it lies', async () => {
  const { id, key } = await service.tenant('Starter');
  await recordAt(service, { id, key }, service.clock.now);
  await expectSaltsFixed(id);
  const states = await service.tenant('Starter');
  const body = eventOf({ before: { a: 1 }, after: { a: 2 } });
  await service.call({ method: 'POST', url: '/api/audit-logs', key: states.key, body });
  await expectSaltsFixed(states.id);
  const held = await service.tenant('Enterprise');
  await placeFor(service, held, Date.UTC(2023, 4, 5));
  await recordAt(service, held, Date.UTC(2023, 4, 5));
  await expectSaltsFixed(held.id);
});

test('a database of before gets that for its partitions, and for one that retention has detached', async () => {
  const tenant = await service.tenant('Pro');
  const time = service.clock.now - 200 * 86_400_000;
  const before = await recordAt(service, tenant, time);
  const { rows } = await service.owner.query<{ name: string }>(
    'SELECT tableoid::regclass::text AS name FROM audit_events WHERE tenant_id = $1 ORDER BY id LIMIT 1',
    [tenant.id],
  );
  const name = rows[0]?.name ?? '';
  await service.owner.query(`
    ALTER TABLE audit_events DROP CONSTRAINT salts_of_segments;
    DROP FUNCTION make_partitions_ahead(timestamptz, int), detached_partitions;
    DELETE FROM migrations WHERE name LIKE '0012%'`);
  await service.owner.query(`ALTER TABLE audit_events DETACH PARTITION ${name} CONCURRENTLY`);
  const applied = await migrate(service.ownerUrl, service.servingUrl, service.clock.now);
  expect(applied).toEqual(['0012-retention.sql']);
  await placeFor(service, tenant, time);
  const url = `/api/audit-logs/${before}`;
  expect((await service.call({ url, key: tenant.key })).status).toBe(200);
  await expectSaltsFixed(tenant.id);
});
