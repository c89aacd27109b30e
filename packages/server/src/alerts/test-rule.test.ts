import { expect, test } from 'vitest';
import { watchedService } from '../testing/alert-setup.ts';
import { ThresholdEvaluator } from './evaluate.ts';
import { readRule } from './rule-input.ts';
import { testRule } from './test-rule.ts';

const { service, tenant, alerts } = await watchedService();

test('tests of rules remember no more together than one alone may', async () => {
  await alerts.record({});
  const { db, clock } = service;
  const rule = readRule(null, {
    ...{ name: 'Many', kind: 'threshold', filters: { action: 'publish' } },
    ...{ count: 2, windowMinutes: 5, groupBy: 'actor' },
  });
  const range = { sinceMs: clock.now - 60_000, untilMs: clock.now + 1 };
  const running = new Set([new ThresholdEvaluator(rule)]);
  const parts = { db, now: () => clock.now, running };
  expect(await testRule(parts, tenant.id, rule, range)).toMatchObject({ matched: 1 });
  expect(running.size).toBe(1);
  for (const other of running) other.size = () => 3_000_000;
  await expect(testRule(parts, tenant.id, rule, range)).rejects.toMatchObject({
    code: 'unavailable',
  });
  expect(running.size).toBe(1);
});
