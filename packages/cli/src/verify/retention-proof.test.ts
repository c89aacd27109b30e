import { createClient } from '@indelible/client';
import { recordAll } from '@indelible/testing/event-pool';
import { at } from '@indelible/testing/retention-setup';
import { eventOf } from '@indelible/testing/service';
import { beforeEach, expect, test } from 'vitest';
import { bundleOf, verifiedBundle } from '../testing/bundle-of.ts';
import { recordOwn } from '../testing/own-record.ts';
import { type VerifiedService, verifiedService } from '../testing/verified-service.ts';
import { reportText } from './report-text.ts';

/* Which absent events retention explains, of a service whose operator may lie about the plan. */

let log: VerifiedService;
beforeEach(async () => {
  log = await verifiedService();
});

const day = 86_400_000;
const tick = () => log.service.app.checkpoints.tick();

/** Sets the plan like the platform: recorded in the tenant's log. */
async function setPlan(id: string, plan: string): Promise<void> {
  const { status } = await log.service.call({
    method: 'PUT',
    url: `/api/tenants/${id}`,
    headers: { 'x-access-reason': 'agreed' },
    body: { plan },
  });
  expect(status).toBe(200);
  await tick();
}

test('a plan that was lowered behind the back of the log explains no absence', async () => {
  const { owner } = log.service;
  const own = `tenant_id = '${log.tenant.id}'`;
  await owner.query(`UPDATE tenants SET plan = 'Starter' WHERE id = '${log.tenant.id}'`);
  await owner.query(`DELETE FROM audit_events WHERE ${own} AND sequence = 7`);
  const report = await log.verify();
  expect(report.result).toBe('damaged');
  expect(report.findings.byCode).toMatchObject({ retention_exceeded: 1 });
  expect(report.findings.byCode.missing_body).toBeGreaterThan(0);
  const bundle = await verifiedBundle(await bundleOf(log));
  expect(bundle.result).toBe('damaged');
  expect(bundle.findings.byCode).toMatchObject({ retention_exceeded: 1 });
});

test('a record that the tenant has left explains nothing while its producers go on', async () => {
  const { service, tenant } = log;
  const { owner, clock } = service;
  const cutoff = new Date(clock.now).toISOString();
  await recordOwn(service, tenant.id, {
    action: 'delete',
    diff: {},
    reason: null,
    resource: { type: 'tenant', id: tenant.id, name: null },
    after: { cutoff, size: 567, count: 567 },
  });
  await recordAll(service, tenant.key, [eventOf()]);
  await owner.query(
    `DELETE FROM audit_events WHERE tenant_id = '${tenant.id}' AND sequence IN (500, 566)`,
  );
  const report = await log.verify();
  expect(report.result).toBe('damaged');
  expect(report.findings.byCode).toMatchObject({ retention_exceeded: 1, missing_body: 2 });
});

test('a plan that was lowered in the open hides events, and the log proves it', async () => {
  const { service, url } = log;
  const tenant = await at(service, service.clock.now - 31 * day, async () => {
    const made = await service.tenant('Pro');
    await recordAll(service, made.key, [eventOf(), eventOf()]);
    return made;
  });
  await setPlan(tenant.id, 'Starter');
  const report = await log.verify({ of: tenant });
  expect(report).toMatchObject({ result: 'intact', findings: { byCode: {} } });
  expect(report.checked.bodies?.expired).toBeGreaterThan(0);
  expect(report.follows.join()).toContain('according to the records of the log');
  const client = createClient({ url, key: tenant.key, tenantId: tenant.id, attempts: 1 });
  const bundle = await verifiedBundle(await bundleOf({ ...log, tenant, client }));
  expect(bundle).toMatchObject({ result: 'intact', findings: { byCode: {} } });
  const promised = await log.verify({ of: tenant, plan: 'Pro' });
  expect(promised.findings.byCode).toEqual({ plan_mismatch: 1 });
});

test('when the records of the plan have expired too, absences are unproven until a plan is named', async () => {
  const { service } = log;
  const starter = await service.tenant('Starter');
  await recordAll(service, starter.key, [eventOf(), eventOf()]);
  service.clock.now += 40 * day;
  await recordAll(service, starter.key, [eventOf()]);
  await tick();
  const cutoff = new Date(service.clock.now - 30 * day).toISOString();
  const report = await log.verify({ of: starter });
  expect(report).toMatchObject({ result: 'unproven', cutoff, firstDamage: null });
  expect(report.checked.bodies).toMatchObject({ intact: 1, stated: 4, expired: 0 });
  expect(reportText(report)).toMatch(
    /\nNot proven\n {2}- 4 events are absent. The only explanation is/,
  );
  expect(reportText(report)).toContain('\nUNPROVEN: ');
  const named = await log.verify({ of: starter, plan: 'Starter' });
  expect(named).toMatchObject({ result: 'intact', checked: { bodies: { expired: 4, stated: 0 } } });
  const other = await log.verify({ of: starter, plan: 'Pro' });
  expect(other.findings.byCode).toEqual({ missing_body: 4, retention_exceeded: 1 });
});

test('the record of a removal goes on proving what is gone', async () => {
  const { service } = log;
  const starter = await service.tenant('Starter');
  await recordAll(service, starter.key, [eventOf(), eventOf()]);
  service.clock.now += 40 * day;
  const cutoff = new Date(service.clock.now - 31 * day).toISOString();
  await service.owner.query(`DELETE FROM audit_events WHERE tenant_id = '${starter.id}'`);
  await recordOwn(log.service, starter.id, {
    action: 'delete',
    resource: { type: 'retention', id: starter.id, name: 'Retention' },
    after: { cutoff, size: 4, count: 4, policy: 'Starter' },
  });
  await tick();
  const report = await log.verify({ of: starter });
  expect(report).toMatchObject({ result: 'intact', checked: { bodies: { expired: 4 } } });
  const bundle = await bundleOf(log, ['state'], starter);
  expect(await verifiedBundle(bundle, { now: () => service.clock.now })).toMatchObject({
    result: 'intact',
  });
});
