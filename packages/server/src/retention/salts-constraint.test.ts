import { partitionFor, recordAt } from '@indelible/testing/retention-setup';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const service = await testService();

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
  await partitionFor(service, held, Date.UTC(2023, 4, 5));
  await recordAt(service, held, Date.UTC(2023, 4, 5));
  await expectSaltsFixed(held.id);
});
