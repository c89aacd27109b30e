import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { UsageError } from '../io.ts';
import { bundleOf, verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { stateEvent, verifiedService } from '../testing/verified-service.ts';
import { receiptCheck, verifyReceipt } from './verify-receipt.ts';

const log = await verifiedService();
const path = join(log.folder, 'receipt.json');

/** Records an event and keeps the answer. */
async function recorded(index: number) {
  const { service, tenant } = log;
  const body = stateEvent(index, service.clock.now - index);
  const call = { method: 'POST', url: '/api/audit-logs', key: tenant.key, body } as const;
  const { text, body: receipt } = await service.call(call);
  writeFileSync(path, text);
  return receipt;
}

const verify = () => verifyReceipt(log.client, { path, vkeys: [] });

test('a receipt is kept, also one that is newer than the last checkpoint', async () => {
  const { id, sequence } = await recorded(1);
  const report = await verify();
  expect(report).toMatchObject({ what: 'receipt', result: 'intact', checkpoint: { size: 568 } });
  expect(report.follows[0]).toBe(
    `The log keeps the promise of the receipt: event ${id} is entry ${sequence} of the log.`,
  );
  const env = { INDELIBLE_URL: log.url, INDELIBLE_API_KEY: log.tenant.key };
  expect((await runCli(['verify', '--receipt', path], { env })).status).toBe(0);
});

test('a receipt that promised another place or another leaf is found', async () => {
  const receipt = await recorded(2);
  const { id: eventId, sequence } = receipt;
  for (const other of [{ sequence: sequence - 1 }, { leafHash: '0'.repeat(64) }]) {
    writeFileSync(path, JSON.stringify({ ...receipt, ...other }));
    const report = await verify();
    expect(report.findings.byCode).toEqual({ receipt_mismatch: 1 });
    expect(report.firstDamage).toMatchObject({
      sequence: { sequence, ...other }.sequence,
      eventId,
    });
  }
});

test('a receipt is held against a bundle with no network', async () => {
  const receipt = await recorded(5);
  await log.service.app.checkpoints.onDemand();
  const bundle = await bundleOf(log);
  const verified = () => verifiedBundle(bundle, { check: receiptCheck(path) });
  const report = await verified();
  expect(report).toMatchObject({ what: 'receipt', subject: path, result: 'intact' });
  expect(report.follows.join()).toContain(`event ${receipt.id} is entry ${receipt.sequence}`);
  const env = { INDELIBLE_URL: 'http://127.0.0.1:9' };
  expect((await runCli(['verify', '--bundle', bundle, '--receipt', path], { env })).status).toBe(0);
  writeFileSync(path, JSON.stringify({ ...receipt, leafHash: 'f'.repeat(64) }));
  expect((await verified()).findings.byCode).toEqual({ receipt_mismatch: 1 });
  writeFileSync(path, JSON.stringify({ ...receipt, sequence: 100_000 }));
  expect((await verified()).findings.byCode).toEqual({ receipt_unproven: 1 });
});

test('a receipt for an event that was altered or removed is found', async () => {
  const { owner } = log.service;
  const { id: eventId, sequence } = await recorded(3);
  await log.service.app.checkpoints.onDemand();
  const row = `tenant_id = '${log.tenant.id}' AND sequence = ${sequence}`;
  await owner.query(`UPDATE audit_events SET action = 'delete' WHERE ${row}`);
  const altered = await verify();
  expect(Object.keys(altered.findings.byCode)).toContain('receipt_mismatch');
  await owner.query(`DELETE FROM audit_events WHERE ${row}`);
  const removed = await verify();
  expect(removed.findings.byCode).toEqual({ missing_body: 1 });
  expect(removed.firstDamage).toMatchObject({ sequence, eventId });
});

test('an event that came late is owed from its receipt: if it was removed, its receipt says so', async () => {
  const { service } = log;
  const days = 29 * 86_400_000;
  service.clock.now -= days;
  const tenant = await service.tenant('Starter');
  const body = stateEvent(8, service.clock.now - days);
  const call = { method: 'POST', url: '/api/audit-logs', key: tenant.key, body } as const;
  const { text, body: receipt } = await service.call(call);
  service.clock.now += days;
  writeFileSync(path, text);
  await service.app.checkpoints.onDemand();
  await service.owner.query('DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = $2', [
    tenant.id,
    receipt.sequence,
  ]);
  const removed = await verifyReceipt(log.clientOf(tenant), { path, vkeys: [] });
  expect(removed.findings.byCode).toEqual({ missing_body: 1 });
});

test('a receipt for what the log never came to hold is found', async () => {
  const receipt = await recorded(4);
  const id = receipt.id.replace(/.$/, receipt.id.endsWith('0') ? '1' : '0');
  writeFileSync(path, JSON.stringify({ ...receipt, id, sequence: receipt.sequence + 9 }));
  expect((await verify()).findings.byCode).toEqual({ receipt_unproven: 1 });
  writeFileSync(path, JSON.stringify({ ...receipt, id, sequence: 3 }));
  expect((await verify()).findings.byCode).toEqual({ receipt_unproven: 1 });
});

test("another tenant's receipt is wrong usage, not damage", async () => {
  await recorded(7);
  const other = await log.service.tenant();
  await log.service.app.checkpoints.onDemand();
  const foreign = verifyReceipt(log.clientOf(other), { path, vkeys: [] });
  await expect(foreign).rejects.toThrow(/the receipt belongs to tenant/);
  const theirs = await bundleOf(log, [], other);
  await expect(verifiedBundle(theirs, { check: receiptCheck(path) })).rejects.toThrow(UsageError);
});

test('a receipt is not taken for kept by a service that can prove nothing any more', async () => {
  await recorded(6);
  await log.service.app.checkpoints.onDemand();
  const tile = `tenant_id = '${log.tenant.id}' AND level = 0 AND index = 1`;
  await log.service.owner.query(`DELETE FROM log_tiles WHERE ${tile}`);
  expect((await verify()).findings.byCode).toEqual({ receipt_unproven: 1 });
});

test('an answer that does not fit a recording call is wrong usage', async () => {
  writeFileSync(path, JSON.stringify({ id: 'evt_audit_1', sequence: 1 }));
  await expect(verify()).rejects.toThrow(/is not an answer to a recording call/);
  writeFileSync(path, 'HTTP/1.1 201');
  await expect(verify()).rejects.toThrow(/cannot be read as JSON/);
});
