import { exec } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { eventIdFromUuid, eventUuid } from '@indelible/protocol';
import { clusterNodes, homeOf, workerCommands } from '@indelible/testing/cluster';
import { expectLogIntact } from '@indelible/testing/intact';
import { nthEvent, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* With CITUS_TEST_WORKER_STOP and CITUS_TEST_WORKER_START: see `workerCommands`. */

const shell = promisify(exec);
const service = await testService();
const port = Number(new URL(clusterNodes().at(-1) ?? '').port);

/** A producer of one tenant: repeats each event until its answer is 201. */
async function produce() {
  const { id, key } = await service.tenant();
  const { from } = await homeOf(service.owner, id);
  const acknowledged: string[] = [];
  const statuses = { 201: 0, 503: 0 };
  const post = async (body: object) => {
    const call = { method: 'POST', url: '/api/audit-logs', key, body } as const;
    const { status, headers } = await service.call(call);
    if (status !== 201) expect([status, headers['retry-after']]).toEqual([503, '1']);
    statuses[status as 201 | 503] += 1;
    return status === 201;
  };
  let ended = false;
  const run = async () => {
    while (!ended) {
      const uuid = eventUuid(service.clock.now, randomBytes(10));
      const event = { ...nthEvent(acknowledged.length), id: eventIdFromUuid(uuid) };
      while (!(await post(event)));
      acknowledged.push(uuid);
    }
  };
  const running = run();
  const end = () => {
    ended = true;
    return running;
  };
  return { id, isOnStopped: from[1] === port, acknowledged, statuses, end };
}

test('a worker that stops at once costs its own tenants 503 until it is back, and others nothing', {
  tags: 'stops-worker',
  timeout: 240_000,
}, async () => {
  const producers = await Promise.all(Array.from({ length: 10 }, produce));
  const [own, others] = [true, false].map((on) =>
    producers.filter(({ isOnStopped }) => isOnStopped === on),
  ) as [typeof producers, typeof producers];
  expect(Math.min(own.length, others.length)).toBeGreaterThan(0);
  const least = (of: typeof producers, status: 201 | 503) =>
    Math.min(...of.map(({ statuses }) => statuses[status]));
  const furtherAnswers = async (of: typeof producers, status: 201 | 503) => {
    const before = of.map(({ statuses }) => statuses[status]);
    const further = () =>
      Math.min(...of.map((each, n) => each.statuses[status] - (before[n] ?? 0)));
    await expect.poll(further, { timeout: 60_000 }).toBeGreaterThan(2);
  };
  await expect.poll(() => least(producers, 201)).toBeGreaterThan(2);

  await shell(workerCommands().stop);
  await furtherAnswers(own, 503);
  const recorded = own.map(({ acknowledged }) => acknowledged.length);
  await furtherAnswers(own, 503);
  await furtherAnswers(others, 201);
  expect(own.map(({ acknowledged }) => acknowledged.length)).toEqual(recorded);
  await shell(workerCommands().start);
  await furtherAnswers(producers, 201);

  await Promise.all(producers.map(({ end }) => end()));
  expect(others.map(({ statuses }) => statuses[503])).toEqual(others.map(() => 0));
  for (const { id, acknowledged } of producers) {
    const { rows } = await service.owner.query<{ id: string }>(
      "SELECT id FROM audit_events WHERE tenant_id = $1 AND recorded_by_kind = 'api_key'",
      [id],
    );
    expect(rows.map((row) => row.id).sort()).toEqual([...acknowledged].sort());
    await expectLogIntact(service, id);
  }
});
