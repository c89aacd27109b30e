import { createClient } from '@indelible/client';
import { archiveOf } from '@indelible/testing/archived';
import { requester } from '@indelible/testing/erasure-setup';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, test } from 'vitest';
import { eraseNow } from '../../../server/src/erasure/command.ts';
import { reopenLog } from '../../../server/src/operations/reopen.command.ts';
import { noProgress } from './log-source.ts';
import { verifyTenant } from './verify-tenant.ts';

const address = 'zoë@example.com';

test('after a restored backup an erasure in the archive is repeated, and the log verifies', async () => {
  const service = await rewindable();
  const tenant = await service.tenant();
  await recordAll(service, tenant.key, poolEvents(60, service.clock.now, 20));
  await archiveOf(service, tenant.id);
  await service.tick();
  const backup = await service.backups.take();
  const now = () => service.clock.now;
  const erase = () => {
    const target = { tenantId: tenant.id, actor: address };
    return eraseNow(service.env, target, requester, { now });
  };
  const first = await erase();
  expect(first.erasures[0]?.events).toBeGreaterThan(0);
  await service.tick();
  await service.backups.restore(backup);
  await service.tick();
  await reopenLog(service.env);
  const app = await service.process();
  const url = await app.http.listen({ port: 0 });

  expect((await erase()).erasures[0]?.events).toBe(first.erasures[0]?.events);
  expect((await archiveOf(service, tenant.id)).problem).toBe(null);
  const find = `/api/audit-logs?limit=500&cross_tenant=false&user=${encodeURIComponent(address)}`;
  const { status, body } = await service.call({ url: find, key: tenant.key });
  expect([status, body.data]).toEqual([200, []]);

  const client = createClient({ url, key: tenant.key, tenantId: tenant.id });
  const options = { tenantId: tenant.id, vkeys: [], plan: null, seen: null, reopened: false, now };
  const report = await verifyTenant(client, { ...options, progress: noProgress });
  expect(report.findings.byCode).toEqual({});
});
