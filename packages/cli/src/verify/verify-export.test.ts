import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleOf, verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { verifiedService } from '../testing/verified-service.ts';
import { exportCheck, verifyExport } from './verify-export.ts';

const log = await verifiedService();

/** Exports the events of a filter, as the service streams them. */
async function exported(name: string, filters: object) {
  const { service, tenant } = log;
  const payload = { filters, format: name.endsWith('csv') ? 'csv' : 'ndjson' };
  const call = { method: 'POST', url: '/api/audit-logs/exports', key: tenant.key } as const;
  const { text } = await service.call({ ...call, body: payload });
  const path = join(log.folder, name);
  writeFileSync(path, text);
  return { path, text };
}

const table = await exported('table.csv', { action: 'update' });
const events = await exported('events.ndjson', {});
const changed = join(log.folder, 'changed.csv');
writeFileSync(changed, table.text.replace('admin', 'owner'));
await log.service.app.checkpoints.onDemand();
const bundle = await bundleOf(log);

const env = { INDELIBLE_URL: log.url, INDELIBLE_API_KEY: log.tenant.key };
const offline = { INDELIBLE_URL: 'http://127.0.0.1:9' };

test('a file is the one that the log recorded, by the service and by a bundle', async () => {
  for (const { path, text } of [table, events]) {
    const byService = await verifyExport(log.client, { path, vkeys: [] });
    const byBundle = await verifiedBundle(bundle, { check: await exportCheck(path) });
    for (const report of [byService, byBundle]) {
      expect(report).toMatchObject({ what: 'export', subject: path, result: 'intact' });
      expect(report.follows.join()).toContain(
        `byte for byte the one that the service made: ${Buffer.byteLength(text)} bytes`,
      );
      expect(report.doesNotFollow.join()).toContain('That each row is the recorded event');
    }
  }
});

test('a file with one changed byte is of no export, and the command ends with 1', async () => {
  const byService = await verifyExport(log.client, { path: changed, vkeys: [] });
  const byBundle = await verifiedBundle(bundle, { check: await exportCheck(changed) });
  for (const { result, findings } of [byService, byBundle]) {
    expect([result, findings.byCode]).toEqual(['damaged', { export_unknown: 1 }]);
  }
  expect((await runCli(['verify', table.path], { env })).status).toBe(0);
  expect((await runCli(['verify', changed], { env })).status).toBe(1);
  const ofBundle = ['verify', '--bundle', bundle];
  expect((await runCli([...ofBundle, table.path], { env: offline })).status).toBe(0);
  expect((await runCli([...ofBundle, changed], { env: offline })).status).toBe(1);
});

test('an export that the service states and cannot prove is none', async () => {
  const { owner } = log.service;
  const { rows } = await owner.query<{ id: string; after: string }>(
    `SELECT id, after::text FROM audit_events WHERE tenant_id = $1 AND action = 'export'`,
    [log.tenant.id],
  );
  const put = (after: string, id: string) =>
    owner.query('UPDATE audit_events SET after = $1::json WHERE id = $2', [after, id]);
  const digest = (await runCli(['verify', changed, '--json'], { env })).stdout.match(
    /[0-9a-f]{64}/,
  );
  for (const { id, after } of rows) await put(after.replace(/[0-9a-f]{64}/, digest?.[0] ?? ''), id);
  const { result, findings } = await verifyExport(log.client, { path: changed, vkeys: [] });
  for (const { id, after } of rows) await put(after, id);
  expect([result, findings.byCode]).toEqual(['damaged', { export_unknown: 1 }]);
});

test('a bundle that withholds the states does not show which files were exported', async () => {
  const withheld = await bundleOf(log, ['state']);
  const report = await verifiedBundle(withheld, { check: await exportCheck(table.path) });
  expect(report.result).toBe('unproven');
  expect(report.unproven.join()).toContain('2 exports of the bundle withhold their state');
});

test('a file that cannot be read is wrong usage', async () => {
  for (const path of ['/nowhere.csv', log.folder]) {
    const { status } = await runCli(['verify', '--bundle', bundle, path], { env: offline });
    expect(status).toBe(2);
  }
});
