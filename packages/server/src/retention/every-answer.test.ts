import { expectLogIntact } from '@indelible/testing/intact';
import {
  change,
  day,
  planCutoff,
  recordAt,
  recordLate,
  type Tenant,
  tenantOf,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* Lists, single reads, totals and counts: events/visibility.test.ts. Here is what else hands events
   out. */

const service = await testService();

const noon = Date.UTC(2026, 10, 20, 12);

/** Which of these events each way to get at them hands out. */
async function handedOut({ id, key }: Tenant, ids: readonly string[]) {
  const found = (text: string) => ids.filter((each) => text.includes(each));
  const exported = async (format: string) => {
    const body = { filters: { action: 'publish' }, format };
    const url = '/api/audit-logs/exports';
    const { status, text } = await service.call({ method: 'POST', url, key, body });
    expect(status).toBe(200);
    return found(text);
  };
  const { rows } = await service.owner.query<{ log: string }>(
    `SELECT replace(log_id::text, '-', '') AS log FROM log_heads WHERE tenant_id = $1`,
    [id],
  );
  const proven: string[] = [];
  for (const each of ids) {
    const { status } = await service.call({ url: `/api/audit-logs/${each}/proof`, key });
    if (status === 200) proven.push(each);
    else expect(status).toBe(404);
  }
  const evidence = await service.call({
    method: 'POST',
    url: '/api/audit-logs/searches',
    key,
    body: { filters: { action: 'publish' } },
  });
  expect(evidence.status).toBe(201);
  return {
    csv: await exported('csv'),
    ndjson: await exported('ndjson'),
    bodies: found((await service.call({ url: `/l/${rows[0]?.log}/events`, key })).text),
    proven,
    evidence: evidence.body.matched.value,
  };
}

const all = (ids: string[]) => ({
  csv: ids,
  ndjson: ids,
  bodies: ids,
  proven: ids,
  evidence: ids.length,
});

test('exports, bodies, proofs and evidence hand an event out until its last millisecond, and not after', async () => {
  service.clock.now = noon;
  const tenant = await tenantOf(service, 'Starter', 31);
  const old = await recordAt(service, tenant, planCutoff('Starter', noon));
  const recent = await recordAt(service, tenant, noon - 1_000);
  expect(await handedOut(tenant, [old, recent])).toEqual(all([old, recent]));
  service.clock.now = noon + 1;
  expect(await handedOut(tenant, [old, recent])).toEqual(all([recent]));
  await change(service, tenant, { plan: 'Pro' });
  expect(await handedOut(tenant, [old, recent])).toEqual(all([old, recent]));
  await change(service, tenant, { plan: 'Starter' });
  expect(await handedOut(tenant, [old, recent])).toEqual(all([recent]));
  await change(service, tenant, { legalHold: true });
  expect(await handedOut(tenant, [old, recent])).toEqual(all([old, recent]));
  await expectLogIntact(service, tenant.id);
});

test('exports, bodies, proofs and evidence hand a late event out for the whole plan from its receipt', async () => {
  service.clock.now = noon;
  const tenant = await tenantOf(service, 'Starter', 31);
  const late = await recordLate(service, tenant, noon - 29 * day);
  service.clock.now = noon + 30 * day;
  expect(await handedOut(tenant, [late])).toEqual(all([late]));
  service.clock.now += 1;
  expect(await handedOut(tenant, [late])).toEqual(all([]));
});
