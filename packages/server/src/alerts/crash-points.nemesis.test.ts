import { alertCalls, watchedTenant } from '@indelible/testing/alert-setup';
import { alertProcess } from '@indelible/testing/alert-worker';
import { expectLogIntact } from '@indelible/testing/intact';
import { testService } from '@indelible/testing/service';
import { killedEverywhere } from '@indelible/testing/steps';
import { expect, test } from 'vitest';
import { minuteMs } from './evaluate.ts';

const service = await testService();

interface Recorded {
  id: string;
  resource: { id: string };
  after: { sequences: number[]; alerts: string[] };
}

test('a process that is killed at any step loses no alert, repeats none, and tells of each once', async () => {
  const tenant = await watchedTenant(service);
  const alerts = alertCalls(service, tenant);
  const match = await alerts.create();
  const pairs = { kind: 'threshold', count: 2, windowMinutes: 5, groupBy: 'actor' };
  const threshold = await alerts.create(pairs);
  const sequences: number[] = [];
  const steps = await killedEverywhere(async (each) => {
    // Longer than windows, leases and the pause between messages.
    service.clock.now += 11 * minuteMs;
    sequences.push(...(await alerts.record({}, {})).map(({ sequence }) => sequence));
    const ended: unknown[] = [];
    await (await alertProcess(service, each, (error) => ended.push(error))).tick();
    service.clock.now += minuteMs;
    await alerts.evaluate();
    if (ended.length > 0) throw ended[0];
  });
  expect(steps).toBeGreaterThan(20);
  const raised: Recorded[] = await alerts.log();
  const of = ({ id }: { id: string }) =>
    raised.filter(({ resource }) => resource.id === id).map(({ after }) => after.sequences);
  expect(of(match)).toEqual(sequences.map((sequence) => [sequence]));
  const both = sequences.flatMap((first, n) => (n % 2 === 0 ? [[first, sequences[n + 1]]] : []));
  expect(of(threshold)).toEqual(both);
  const told = (await alerts.log('notify')).flatMap(({ after }: Recorded) => after.alerts);
  expect(told.sort()).toEqual(raised.map(({ id }) => id).sort());
  await expectLogIntact(service, tenant.id);
});
