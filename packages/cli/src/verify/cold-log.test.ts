import { join } from 'node:path';
import { expect, test } from 'vitest';
import { moveToArchive, rowsOf, tenantOfMonths } from '../../../server/src/testing/cold.ts';
import { testService } from '../../../server/src/testing/service.ts';
import { runCli } from '../testing/run-cli.ts';

const service = await testService();
const tenant = await tenantOfMonths(service, 60);
await moveToArchive(service, tenant);
const url = await service.app.http.listen({ port: 0 });
const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: tenant.key, XDG_STATE_HOME: service.dataDir };

test('a log whose older events are in the archive verifies, as a log and as a bundle', async () => {
  const { rows } = await service.owner.query('SELECT size FROM log_heads WHERE tenant_id = $1', [
    tenant.id,
  ]);
  const size = Number(rows[0].size);
  expect(await rowsOf(service, tenant)).toBeLessThan(size - 30);
  const log = await runCli(['verify', tenant.id], { env });
  expect([log.status, log.stderr]).toEqual([0, '']);
  expect(log.stdout).toContain(`${size} events that match the log`);
  const folder = join(service.dataDir, 'bundle');
  const made = await runCli(['export', '--bundle', folder, '--tenant', tenant.id], { env });
  expect([made.status, made.stderr]).toEqual([0, '']);
  const bundle = await runCli(['verify', folder], { env });
  expect(bundle.stdout).toContain(`${size} events that match the log`);
});
