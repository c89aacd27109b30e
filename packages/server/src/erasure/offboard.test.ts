import { configOf } from '@indelible/testing/archived';
import { bundleOf, offboardNow, recordEach, requester } from '@indelible/testing/erasure-setup';
import { expectTreeIntact } from '@indelible/testing/intact';
import { change, run } from '@indelible/testing/retention-setup';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { beforeEach, expect, test } from 'vitest';
import { openObjectStore } from '../objects/open-store.ts';

let tenant: { id: string; key: string };
let bundle: Awaited<ReturnType<typeof bundleOf>>;
const service = await testService();
beforeEach(async () => {
  tenant = await service.tenant();
  await recordEach(service, tenant.key, [{}, {}]);
  bundle = await bundleOf(service, tenant.id);
});

const sizeOf = async () => (await bundleOf(service, tenant.id)).size;

async function events() {
  const { rows } = await service.owner.query(
    `SELECT sequence::int, action, resource_type, actor_email, reason, after FROM audit_events
     WHERE tenant_id = $1 ORDER BY sequence`,
    [tenant.id],
  );
  return rows;
}

test('the log and one record of a tenant that left stay, and nothing else', async () => {
  await service.owner.query(
    `SELECT note_sources(array_fill($1::uuid, '{2}'), array_fill($1::uuid, '{2}'), '{a,a}', '{1,3}', now())`,
    [tenant.id],
  );
  await service.app.checkpoints.tick();
  const size = await sizeOf();
  const { offboarding } = await offboardNow(service, tenant.id, bundle);
  expect(await events()).toMatchObject([
    {
      sequence: size,
      action: 'delete',
      resource_type: 'tenant',
      actor_email: requester.operatorEmail,
      reason: requester.reason,
      after: { size, count: size, bundle },
    },
  ]);
  expect(offboarding).toMatchObject({ size, record: size, counts: { events: size, apiKeys: 1 } });
  const belongings = ['api_keys', 'sessions', 'viewer_links', 'searches', 'restores', 'webhooks'];
  const others = [
    'exports',
    'sources',
    'source_gaps',
    'views',
    'alert_rules',
    'alert_cursors',
    'mail_recipients',
  ];
  for (const table of [...belongings, ...others]) {
    const found = await service.owner.query(`SELECT FROM ${table} WHERE tenant_id = $1`, [
      tenant.id,
    ]);
    expect([table, found.rowCount]).toEqual([table, 0]);
  }
  await expectTreeIntact(service, tenant.id);
});

test('a tenant that left takes no more events, and says so', async () => {
  await offboardNow(service, tenant.id, bundle);
  const body = { ...eventOf(), tenantId: tenant.id };
  const answer = await service.call({ method: 'POST', url: '/api/audit-logs', body });
  expect([answer.status, answer.body.code]).toEqual([422, 'unknown_tenant']);
  expect(answer.body.detail).toMatch(/was offboarded/);
  const { body: shown } = await service.call({ url: `/api/tenants/${tenant.id}` });
  expect(shown.closedAt).toBe(new Date(service.clock.now).toISOString());
  // Who still looks is on record, as before.
  const headers = { 'x-tenant-id': tenant.id, 'x-access-reason': 'audit' };
  const list = await service.call({ url: '/api/audit-logs', key: platformKey, headers });
  expect([list.status, list.body.data.length]).toEqual([200, 1]);
  expect((await events()).at(-1)).toMatchObject({ action: 'access', reason: 'audit' });
  await expectTreeIntact(service, tenant.id);
});

test('the certificate names the first checkpoint over the record, once there is one', async () => {
  const first = await offboardNow(service, tenant.id, bundle);
  expect(first.certificate).toBeNull();
  await service.app.checkpoints.tick();
  const second = await offboardNow(service, tenant.id, bundle);
  expect(second.offboarding).toEqual(first.offboarding);
  const { log, removed } = second.certificate ?? {};
  expect(removed?.events).toBe(first.offboarding.size);
  const [, size] = /\n(\d+)\n/.exec(log?.checkpoint ?? '') ?? [];
  expect(Number(size)).toBeGreaterThan(first.offboarding.record);
});

test('a tenant does not leave with a bundle that lacks what was recorded since', async () => {
  await recordEach(service, tenant.key, [{}]);
  await expect(offboardNow(service, tenant.id, bundle)).rejects.toThrow(
    /1 event.*since the bundle/,
  );
  expect((await events()).length).toBe(bundle.size + 1);
  expect((await recordEach(service, tenant.key, [{}])).length).toBe(1);
});

test('a tenant does not leave with the bundle of another log', async () => {
  const other = { ...bundle, origin: 'localhost/l/00000000000000000000000000000000' };
  await expect(offboardNow(service, tenant.id, other)).rejects.toThrow(/another log/);
  expect((await events()).length).toBe(bundle.size);
});

test('a tenant under legal hold does not leave, also when it was leaving', async () => {
  await change(service, tenant, { legalHold: true });
  await expect(offboardNow(service, tenant.id, bundle)).rejects.toThrow(/legal hold/);
  await change(service, tenant, { legalHold: false });
  const betweenBatches = () => {
    throw new Error('cut off');
  };
  const size = await sizeOf();
  await expect(offboardNow(service, tenant.id, bundle, { betweenBatches })).rejects.toThrow('cut');
  await change(service, tenant, { legalHold: true });
  await expect(offboardNow(service, tenant.id, bundle)).rejects.toThrow(/legal hold/);
  expect((await events()).length).toBe(size + 2);
  await change(service, tenant, { legalHold: false });
  await offboardNow(service, tenant.id, bundle);
  expect((await events()).map(({ sequence }) => sequence)).toEqual([size, size + 1, size + 2]);
});

test('an offboarding that was cut off goes on: between batches, and before objects are gone', async () => {
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  await objects.putIfAbsent(`exports/${tenant.id}/left.csv`, Buffer.from('left'));
  const list = () => Promise.reject(new Error('the object store is away'));
  const away = { objects: { ...objects, list } };
  await expect(offboardNow(service, tenant.id, bundle, away)).rejects.toThrow('away');
  const { offboarding } = await offboardNow(service, tenant.id, bundle);
  expect(offboarding.finishedAtMs).toBe(service.clock.now);
  expect(await objects.list(`exports/${tenant.id}`)).toEqual([]);
  expect((await events()).length).toBe(1);
});

test('the record of an offboarding outlives retention runs while it is owed', async () => {
  await offboardNow(service, tenant.id, bundle);
  await run(service);
  expect((await events()).length).toBe(1);
});
