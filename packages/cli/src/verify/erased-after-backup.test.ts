import { createClient } from '@indelible/client';
import { expect, test, vi } from 'vitest';
import { eraseNow, erasurePlan } from '../../../server/src/erasure/command.ts';
import { reopenLog } from '../../../server/src/operations/reopen.command.ts';
import { archiveOf } from '../../../server/src/testing/archived.ts';
import { moveToArchive, tenantOfMonths } from '../../../server/src/testing/cold.ts';
import { requester } from '../../../server/src/testing/erasure-setup.ts';
import { rewindable } from '../../../server/src/testing/rewindable.ts';
import { runCli } from '../testing/run-cli.ts';
import { noProgress } from './log-source.ts';
import { verifyTenant } from './verify-tenant.ts';

vi.setConfig({ testTimeout: 60_000 });

const address = 'user3@example.com';

test('after a restored backup an erasure in the archive is repeated, and the log verifies', async () => {
  const service = await rewindable();
  const tenant = await tenantOfMonths(service, 60);
  await service.tick();
  await moveToArchive(service, tenant);
  await service.tick();
  const backup = await service.backups.take();
  const now = () => service.clock.now;
  const erase = (actor: string) => {
    const target = { tenantId: tenant.id, actor };
    return eraseNow(service.env, target, requester, { now });
  };
  const find = `/api/audit-logs?limit=500&on_behalf_of=${address}`;
  const [{ onBehalfOf }] = (await service.call({ url: find, key: tenant.key })).body.data;
  const [{ id }] = onBehalfOf;
  await erase(address);
  await service.tick();
  await service.backups.restore(backup);
  await service.tick();
  await reopenLog(service.env);
  const app = await service.process();
  const url = await app.http.listen({ port: 0 });

  const run = () => archiveOf(service, tenant.id, { hotMonths: 4 });
  expect((await run()).problem).toMatch(/older events are read, is not in the object store.*erase/);
  const fsck = await runCli(['fsck'], { env: service.env as Record<string, string> });
  expect(fsck.status).toBe(1);
  expect(fsck.stdout).toMatch(/archive\/tenant=.*parquet is not in the object store/);
  expect((await erasurePlan(service.env, { tenantId: tenant.id, actor: id })).actors).toEqual([
    { id, count: 0, asOperator: 0 },
  ]);
  await erase(id);
  expect((await run()).problem).toBe(null);
  const { status, body } = await service.call({ url: find, key: tenant.key });
  expect([status, body.data]).toEqual([200, []]);
  await expect(erase(id)).rejects.toThrow('no event of the tenant has an identity of the actor');

  const client = createClient({ url, key: tenant.key, tenantId: tenant.id });
  const options = { tenantId: tenant.id, vkeys: [], plan: null, seen: null, reopened: false, now };
  const report = await verifyTenant(client, { ...options, progress: noProgress });
  expect(report.findings.byCode).toEqual({});
});
