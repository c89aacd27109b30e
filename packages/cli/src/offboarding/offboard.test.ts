import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withOwnService } from '@indelible/server';
import { envOf } from '@indelible/testing/archived';
import { bundleOf, offboardNow, recordEach, requester } from '@indelible/testing/erasure-setup';
import { newFolder } from '@indelible/testing/folders';
import { day, recordAt, tenantOf } from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { makeBundle } from './offboard.ts';

const service = await testService();
const scratch = newFolder();
// The bundle is made in the folder where the command runs.
const before = process.cwd();
process.chdir(scratch);
afterAll(() => process.chdir(before));
const env = envOf(service);
const by = ['--reason', requester.reason, '--operator-email', requester.operatorEmail, '--yes'];

const offboard = (tenantId: string, ...args: string[]) =>
  runCli(['erase', '--tenant', tenantId, ...args], { env });

async function leavingTenant() {
  const tenant = await service.tenant('Pro');
  await recordEach(service, tenant.key, [{}, { reason: 'two' }, { reason: 'three' }]);
  return tenant;
}

const eventsOf = async (tenantId: string) =>
  (
    await service.owner.query<{ what: string }>(
      `SELECT action || ' ' || resource_type AS what FROM audit_events WHERE tenant_id = $1 ORDER BY sequence`,
      [tenantId],
    )
  ).rows.map(({ what }) => what);

test('one command gives a tenant its log, erases it and certifies that; cut off before, it goes on', async () => {
  const { id } = await leavingTenant();
  const shown = await offboard(id);
  expect([shown.status, existsSync(join(scratch, `indelible-${id}`))]).toEqual([0, false]);
  expect(shown.stdout).toContain(`made first, in indelible-${id}, and verified`);
  const folder = join(scratch, `indelible-${id}`);
  // Cut off in the middle of the bundle.
  const cutOff = withOwnService(env, (own) => {
    const fetch: typeof globalThis.fetch = (input, init) =>
      String(input).endsWith('/events')
        ? Promise.reject(new TypeError('cut off'))
        : own.fetch(input, init);
    return makeBundle({ ...own, fetch }, { tenantId: id, folder, ...requester }, process);
  });
  await expect(cutOff).rejects.toThrow();
  expect([existsSync(folder), existsSync(`${folder}.part`)]).toEqual([false, true]);
  const checkpoint = readFileSync(join(`${folder}.part`, 'checkpoint'), 'utf8');
  expect(await eventsOf(id)).toContain('update queue');

  const done = await offboard(id, ...by);
  expect([done.status, done.stderr.includes('indelible:')]).toEqual([0, false]);
  expect(done.stdout).toContain('Certificate of offboarding');
  expect(readFileSync(join(folder, 'checkpoint'), 'utf8'), 'continued').toBe(checkpoint);
  expect(await verifiedBundle(folder)).toMatchObject({ result: 'intact' });
  expect((await eventsOf(id))[0]).toBe('delete tenant');
  const certificate = JSON.parse(readFileSync(`${folder}-certificate.json`, 'utf8'));
  expect(certificate).toMatchObject({ tenantId: id, reason: requester.reason });
  const events = readFileSync(join(folder, 'events.ndjson'), 'utf8').split('\n').length - 1;
  expect([certificate.bundle.events, events]).toEqual([events, expect.any(Number)]);
  // Once more, as after a certificate that was not written: the same one.
  rmSync(`${folder}-certificate.json`);
  const again = await offboard(id, '--json', ...by);
  expect(JSON.parse(again.stdout)).toMatchObject({ done: true, bundle: certificate.bundle });
  expect(existsSync(`${folder}-certificate.json`)).toBe(true);
  // What is gone on record is no damage.
  const checked = await runCli(['fsck'], { env });
  expect([checked.status, checked.stdout]).toEqual([0, expect.stringContaining('INTACT')]);
});

test('a removal that has begun goes on without the bundle', async () => {
  const { id } = await leavingTenant();
  const bundle = await bundleOf(service, id);
  const betweenBatches = () => {
    throw new Error('cut off');
  };
  await expect(offboardNow(service, id, bundle, { betweenBatches })).rejects.toThrow('cut off');
  expect(await eventsOf(id)).toContain('update queue');
  const elsewhere = join(scratch, 'elsewhere');
  const done = await offboard(id, '--bundle', elsewhere, ...by);
  expect(done.status).toBe(0);
  expect(await eventsOf(id)).toEqual(['delete tenant']);
  const certificate = JSON.parse(readFileSync(`${elsewhere}-certificate.json`, 'utf8'));
  expect(certificate.bundle).toEqual(bundle);
  expect(existsSync(elsewhere)).toBe(false);
});

test('a tenant goes whose plan no longer shows the record of the plan', async () => {
  const tenant = await tenantOf(service, 'Pro', 400);
  await recordAt(service, tenant, service.clock.now - 380 * day);
  await recordEach(service, tenant.key, [{}]);
  const done = await offboard(tenant.id, ...by);
  expect([done.status, done.stderr.includes('indelible:')], done.stderr).toEqual([0, false]);
  expect(await eventsOf(tenant.id)).toEqual(['delete tenant']);
});

test('under legal hold not even a bundle is made, and nothing goes', async () => {
  const { id } = await leavingTenant();
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body: { legalHold: true } });
  const refused = await offboard(id, '--bundle', 'held', ...by);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain('under legal hold');
  expect(existsSync(join(scratch, 'held'))).toBe(false);
  expect(await eventsOf(id)).toContain('update queue');
});

test('a log that is damaged is not erased: its bundle would not be whole', async () => {
  const { id } = await leavingTenant();
  await service.owner.query(
    `UPDATE audit_events SET reason = 'forged' WHERE tenant_id = $1 AND reason = 'two'`,
    [id],
  );
  const refused = await offboard(id, '--bundle', 'damaged', ...by);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain('the bundle is not complete');
  expect(await eventsOf(id)).toContain('update queue');
});
