import { watchedService } from '@indelible/testing/alert-setup';
import { offboardNow } from '@indelible/testing/erasure-setup';
import { expectLogIntact, expectTreeIntact } from '@indelible/testing/intact';
import { lockWaits } from '@indelible/testing/lock-waits';
import { runTwice } from '@indelible/testing/retention-setup';
import { expect, test } from 'vitest';
import { dayMs, minuteMs } from './evaluate.ts';

/* What else happens while rules are evaluated: changes, removals, and clocks that were wrong. */

const { service, tenant, alerts, watch } = await watchedService();

const raised = async () =>
  (await alerts.log()).map(({ resource }: { resource: { id: string } }) => resource.id);

/** Evaluates, and changes a rule after its events are read, before alerts are stored. */
async function evaluateAround(change: string, rule: string): Promise<void> {
  const { owner } = service;
  await owner.query('BEGIN');
  await owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [tenant.id]);
  const evaluating = alerts.evaluate();
  // Before PostgreSQL's lock_timeout of five seconds.
  await expect.poll(() => lockWaits(owner), { timeout: 4_000 }).toBeGreaterThan(0);
  await owner.query(change, [rule]);
  await owner.query('COMMIT');
  await evaluating;
}

test('a rule that is removed, changed or switched off while events are evaluated raises nothing', async () => {
  const changes = [
    'DELETE FROM alert_rules WHERE id = $1',
    'UPDATE alert_rules SET enabled = false WHERE id = $1',
    `UPDATE alert_rules SET settings = settings::jsonb || '{"filters": {"action": ["delete"]}}' WHERE id = $1`,
  ];
  const kept = await alerts.create({ name: 'Kept' });
  for (const change of changes) {
    const { id } = await alerts.create();
    await alerts.record({});
    await evaluateAround(change, id);
  }
  expect(await raised()).toEqual(changes.map(() => kept.id));
  await expectLogIntact(service, tenant.id);
});

test('events that retention has removed before they are evaluated set nothing off, and hold nothing up', async () => {
  await watch('Starter');
  await alerts.create();
  await alerts.create({ kind: 'threshold', count: 2, windowMinutes: 5 });
  await alerts.record({}, {});
  service.clock.now += 32 * dayMs;
  await runTwice(service);
  await alerts.evaluate();
  expect((await alerts.call('GET', '')).body).toMatchObject({ behind: 0, lateSkipped: 0 });
  await alerts.record({});
  await alerts.evaluate();
  expect(await raised()).toHaveLength(1);
  await expectTreeIntact(service, tenant.id);
});

test('an offboarded tenant has no rules, and none of its events is evaluated', async () => {
  await alerts.create({ kind: 'silence', windowMinutes: 5 });
  await alerts.create();
  await alerts.record({});
  await service.app.checkpoints.tick();
  await offboardNow(service, tenant.id);
  service.clock.now += dayMs;
  await alerts.evaluate();
  const left = await service.owner.query(
    `SELECT FROM alert_rules WHERE tenant_id = $1 UNION ALL
     SELECT FROM alert_cursors WHERE tenant_id = $1 UNION ALL
     SELECT FROM audit_events WHERE tenant_id = $1 AND resource_type = 'alert'`,
    [tenant.id],
  );
  expect(left.rowCount).toBe(0);
});

test('after a clock that was a day ahead, silences and messages are as prompt as before', async () => {
  const rule = await alerts.create({ name: 'Published', filters: { action: 'publish' } });
  const quiet = await alerts.create({ name: 'Quiet', kind: 'silence', windowMinutes: 30 });
  service.clock.now += dayMs;
  for (const _each of ['told', 'to be told in ten minutes']) {
    await alerts.record({});
    await alerts.evaluate();
  }
  service.clock.now -= dayMs;
  await alerts.evaluate();
  const messages = async (id: string) =>
    (await alerts.log('notify')).filter(({ resource }) => resource.id === id).length;
  expect([await messages(rule.id), await messages(quiet.id)]).toEqual([2, 1]);
  await alerts.record({});
  await alerts.evaluate();
  service.clock.now += 31 * minuteMs;
  await alerts.evaluate();
  expect([await messages(rule.id), await messages(quiet.id)]).toEqual([3, 2]);
});
