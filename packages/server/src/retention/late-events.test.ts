import { randomUUID } from 'node:crypto';
import { firstUuidAt, lateClass } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { databaseBefore } from '../testing/old-database.ts';

const hour = 3_600_000;

test('the late events of a former release move to their class, and reads look there', async () => {
  const old = await databaseBefore('0025');
  try {
    const tenants = [randomUUID(), randomUUID()] as const;
    const received = Date.UTC(2026, 10, 20, 12);
    const event = async (tenantId: string, sequence: number, agoMs: number) => {
      const atMs = received - agoMs;
      await old.owner.query('SELECT place_partition(1::smallint, $1)', [new Date(atMs)]);
      await old.owner.query(
        `INSERT INTO audit_events (tenant_id, id, sequence, received_at, actor_id, resource_id,
           recorded_by_id, retention_class, cross_tenant, recorded_by_kind, actor_email_key,
           actor_role, action, resource_type, category, diff, salts)
         VALUES ($1, $2, $3, $4, $1, $1, $1, 1, false, 'service', '', 'admin', 'update', 'tenant',
           'configuration', '{}', $5)`,
        [tenantId, firstUuidAt(atMs), sequence, new Date(received), Buffer.alloc(48)],
      );
    };
    for (const tenantId of tenants) {
      await old.owner.query('SELECT open_log($1, 1::smallint)', [tenantId]);
      await event(tenantId, 0, 24 * hour);
    }
    await event(tenants[1], 1, 24 * hour + 1);
    await old.migrate();
    const { rows } = await old.owner.query(
      `SELECT h.tenant_id AS id, other_classes AS others, array_agg(e.retention_class ORDER BY e.id DESC) AS lying
       FROM log_heads h JOIN audit_events e USING (tenant_id) GROUP BY h.tenant_id`,
    );
    expect(rows).toEqual(
      expect.arrayContaining([
        { id: tenants[0], others: [], lying: [1] },
        { id: tenants[1], others: [lateClass], lying: [1, lateClass] },
      ]),
    );
  } finally {
    await old.close();
  }
});
