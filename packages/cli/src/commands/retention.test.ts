import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { envOf } from '@indelible/testing/archived';
import { makeDataDir, newFolder } from '@indelible/testing/folders';
import {
  databaseTime,
  day,
  recordAt,
  records,
  stored,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { startService } from '../../../server/src/main.ts';
import { runCli } from '../testing/run-cli.ts';

const service = await testService();

const env = envOf(service);
const retention = (...args: string[]) => runCli(['retention', ...args], { env });

test('the plan shows what goes before it goes, and the run removes exactly that', async () => {
  const now = await databaseTime(service);
  service.clock.now = now - 45 * day;
  const tenant = await tenantOf(service, 'Starter', 20);
  const ids = [
    await recordAt(service, tenant, service.clock.now - 20 * day),
    await recordAt(service, tenant, service.clock.now),
  ];
  service.clock.now = now;
  const recent = await recordAt(service, tenant, now);
  // Nothing that a run has not seen a day before goes.
  const early = await retention('plan');
  expect([early.status, early.stdout]).toEqual([
    0,
    expect.stringContaining('kept for another day'),
  ]);
  await service.owner.query("UPDATE retention_clock SET seen_at = now() - interval '1 day'");

  const shown = await retention('run', '--dry-run', '--json');
  expect(shown.status).toBe(0);
  const planned = JSON.parse(shown.stdout).tenants;
  expect(planned).toMatchObject([{ tenantId: tenant.id, plan: 'Starter', count: 4 }]);
  const text = await retention('plan');
  expect(text.stdout).toContain(`tenant ${tenant.id} `);
  expect(text.stdout).toContain('4 events from before');
  expect(await stored(service, ids)).toEqual(ids);

  const done = await retention('run', '--json');
  expect(done.status).toBe(0);
  const { tenants, dropped } = JSON.parse(done.stdout);
  expect(tenants).toMatchObject([{ tenantId: tenant.id, plan: 'Starter', count: 4 }]);
  expect(dropped.length).toBeGreaterThanOrEqual(2);
  expect(await stored(service, [...ids, recent])).toEqual([recent]);
  const [record] = await records(service, tenant);
  expect(record).toMatchObject({ cutoff: tenants[0].cutoff, count: 4 });
}, 90_000);

test('while another process is at it, a run does nothing and says so', async () => {
  await service.owner.query("SELECT pg_advisory_lock(hashtext('indelible.retention'))");
  const busy = await retention('run', '--json');
  await service.owner.query("SELECT pg_advisory_unlock(hashtext('indelible.retention'))");
  expect([busy.status, JSON.parse(busy.stdout)]).toEqual([0, { busy: true }]);
});

test('a login that serves may not remove anything', async () => {
  const serving = { ...env, DATABASE_OWNER_URL: service.servingUrl };
  const refused = await runCli(['retention', 'run'], { env: serving });
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('permission')]);
});

test('the embedded database is maintained beside the service that uses it, and without one', async () => {
  const scratch = newFolder();
  const embedded = {
    DATA_DIR: join(scratch, 'data'),
    PLATFORM_API_KEY: platformKey,
    LOG_LEVEL: 'fatal',
    PORT: '0',
  };
  await makeDataDir(embedded.DATA_DIR);
  const running = await startService(embedded);
  try {
    const beside = await runCli(['retention', 'run', '--json'], { env: embedded });
    expect([beside.status, beside.stderr]).toEqual([0, '']);
    expect(JSON.parse(beside.stdout)).toMatchObject({ busy: false, tenants: [] });
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
  } finally {
    await running.stop();
  }
  const alone = await runCli(['retention', 'plan', '--json'], { env: embedded });
  expect([alone.status, JSON.parse(alone.stdout).tenants]).toEqual([0, []]);
  rmSync(scratch, { recursive: true, maxRetries: 10 });
});
