import { watchedService } from '@indelible/testing/alert-setup';
import { actorWith } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { ThresholdEvaluator } from './evaluate.ts';
import { readRule } from './rule-input.ts';
import { runningTests, testRule } from './test-rule.ts';

const { service, tenant, alerts } = await watchedService();

test('tests of rules remember no more together than one alone may', async () => {
  await alerts.record({});
  const { db, clock } = service;
  const rule = readRule(null, {
    name: 'Many',
    kind: 'threshold',
    filters: { action: 'publish' },
    count: 2,
    windowMinutes: 5,
    groupBy: 'actor',
  });
  const range = { sinceMs: clock.now - 60_000, untilMs: clock.now + 1 };
  const running = runningTests(1);
  const tested = () => testRule({ db, now: () => clock.now, running }, tenant.id, rule, range);
  expect(await tested()).toMatchObject({ matched: 1 });
  expect(running.evaluators.size).toBe(0);
  const other = new ThresholdEvaluator(rule);
  other.learn('another actor', [], undefined);
  running.evaluators.add(other);
  await expect(tested()).rejects.toMatchObject({ code: 'unavailable' });
  await alerts.record({ actor: actorWith({ id: '22222222-2222-4222-8222-222222222222' }) });
  await expect(tested()).rejects.toMatchObject({ code: 'conflict' });
  expect([...running.evaluators]).toEqual([other]);
});
