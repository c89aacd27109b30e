import {
  change,
  day,
  listed,
  recordAt,
  recordLate,
  records,
  run,
  stored,
  type Tenant,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { expect, test } from 'vitest';
import { bundleOf, verifiedBundle } from '../testing/bundle-of.ts';
import { verifiedService } from '../testing/verified-service.ts';

const now = Date.now();

const log = await verifiedService();

/** A run that believes its clock, and a checkpoint of what it recorded. */
async function retention(): Promise<void> {
  const { service } = log;
  await service.owner.query('UPDATE retention_clock SET seen_at = $1, believed_at = NULL', [
    new Date(service.clock.now - day),
  ]);
  await run(service);
  await service.app.checkpoints.tick();
}

async function verified(of: Tenant) {
  await log.service.app.checkpoints.tick();
  return log.verify({ of });
}

/** A Starter tenant of long ago, of which one run has removed something, and what is left of it. */
async function withRemoval(daysAgo: number) {
  const { service } = log;
  service.clock.now = now - daysAgo * day;
  const tenant = await tenantOf(service, 'Starter', 4);
  for (let n = 4; n >= 0; n--) await recordAt(service, tenant, service.clock.now - n * day);
  service.clock.now = now;
  const left: string[] = [];
  for (let n = 4; n >= 0; n--) left.push(await recordAt(service, tenant, now - n * day));
  await retention();
  return { tenant, left };
}

test('a log of which retention has removed events is intact, and the report says what is gone', async () => {
  const { tenant, left } = await withRemoval(60);
  expect(await listed(log.service, tenant)).toHaveLength(left.length);
  const [record] = await records(log.service, tenant);
  const report = await verified(tenant);
  expect(report.findings.kept).toEqual([]);
  expect(report.result).toBe('intact');
  expect(report.checked.bodies?.expired).toBe(record?.count);
  expect(report.cutoff).not.toBeNull();
});

test('a body that is missing beside that is damage, at its position', async () => {
  const { tenant, left } = await withRemoval(90);
  const [id = ''] = left.slice(2);
  const { body } = await log.service.call({ url: `/api/audit-logs/${id}`, key: tenant.key });
  const gone = 'DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = $2';
  await log.service.owner.query(gone, [tenant.id, body.sequence]);
  const report = await verified(tenant);
  expect(report.result).toBe('damaged');
  expect(report.findings.byCode).toEqual({ missing_body: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: body.sequence, eventId: id });
});

test('an event that came late is owed for the whole plan from its receipt, and gone after it', async () => {
  const { service } = log;
  service.clock.now = now - 33 * day;
  const tenant = await service.tenant('Starter');
  const ids: string[] = [];
  for (let n = 0; n < 2; n++) ids.push(await recordLate(service, tenant, now - 62 * day));
  service.clock.now = now - 4 * day;
  await retention();
  expect(await listed(service, tenant)).toEqual(ids);
  expect((await verified(tenant)).result).toBe('intact');
  const { rows } = await service.owner.query(
    'DELETE FROM audit_events WHERE tenant_id = $1 AND action = $2 AND sequence = 3 RETURNING id',
    [tenant.id, 'publish'],
  );
  expect(rows).toHaveLength(1);
  expect((await verified(tenant)).findings.byCode).toEqual({ missing_body: 1 });
  service.clock.now = now;
  await retention();
  expect(await stored(service, ids)).toEqual([]);
  expect((await verified(tenant)).result).toBe('intact');
});

test('after a downgrade, its grace and the way back the log is intact at each step', async () => {
  const { service } = log;
  service.clock.now = now - 40 * day;
  const tenant = await tenantOf(service, 'Enterprise', 461);
  const old = await recordAt(service, tenant, now - 500 * day);
  const recent = await recordAt(service, tenant, service.clock.now);
  await change(service, tenant, { plan: 'Pro' });
  await service.app.checkpoints.tick();
  await retention();
  expect(await stored(service, [old])).toEqual([old]);
  expect((await verified(tenant)).result).toBe('intact'); // hidden, and still there
  // The grace is by the database's clock, which is months ahead of this test's.
  await service.owner.query('UPDATE grace SET until = $2 WHERE tenant_id = $1', [
    tenant.id,
    new Date(now - 10 * day),
  ]);
  service.clock.now = now;
  await retention();
  expect(await stored(service, [old])).toEqual([]);
  expect((await verified(tenant)).result).toBe('intact');
  await change(service, tenant, { plan: 'Enterprise' });
  await retention();
  expect(await listed(service, tenant)).toEqual([recent]);
  // The plan would show it again: only the record of its removal explains that it is not there.
  const report = await verified(tenant);
  expect([report.result, report.checked.bodies?.expired]).toEqual(['intact', 3]);
  await change(service, tenant, { legalHold: true });
  await retention();
  expect((await verified(tenant)).result).toBe('intact');
});

test('a bundle of such a log proves the same without the service', async () => {
  const { tenant } = await withRemoval(120);
  const { createClient } = await import('@indelible/client');
  const client = createClient({ url: log.url, key: tenant.key, tenantId: tenant.id, attempts: 1 });
  const bundle = await bundleOf({ ...log, tenant, client });
  const report = await verifiedBundle(bundle);
  expect(report.findings.kept).toEqual([]);
  expect([report.result, report.checked.bodies?.expired]).toEqual(['intact', 7]);
});
