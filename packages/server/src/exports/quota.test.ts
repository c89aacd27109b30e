import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { askForJob, exportsUrl } from '@indelible/testing/exports';
import {
  type CallOptions,
  callOn,
  eventOf,
  serviceOn,
  testService,
} from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { diagnoseDisk } from '../operations/doctor.ts';

const service = await testService({ EXPORTS_KEPT_GIB_MAX: '1' });

const request: CallOptions = {
  method: 'POST',
  url: exportsUrl,
  headers: { prefer: 'respond-async' },
  body: { filters: {}, format: 'csv' },
};

test('a tenant with as many unfinished exports as it may have gets 429, until one ends', async () => {
  const [{ key }, other] = await Promise.all([service.tenant(), service.tenant()]);
  const first = await askForJob(service, key);
  for (let asked = 1; asked < 20; asked++) await askForJob(service, key);
  const refused = await service.call({ ...request, key });
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
  expect(refused.body).toMatchObject({ code: 'rate_limited', detail: /20 exports .* not ready/ });
  await askForJob(service, other.key);
  await service.call({ method: 'DELETE', url: `${exportsUrl}/${first.id}`, key });
  await askForJob(service, key);
  const { body } = await service.call({ url: exportsUrl, key });
  expect(body.data).toHaveLength(21);
});

test('no more exports are taken at the same moment than the limit allows', async () => {
  const { key } = await service.tenant();
  const asked = Array.from({ length: 22 }, () => service.call({ ...request, key }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 202)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
});

test('a tenant whose files take what they may gets 429, which says how much it has', async () => {
  const { id, key } = await service.tenant();
  await askForJob(service, key);
  await service.owner.query(
    `UPDATE exports SET status = 'ready', bytes = 2 ^ 30, sha256 = sha256(''), finished_at = now(),
       expires_at = now() + interval '7 days' WHERE tenant_id = $1`,
    [id],
  );
  const { status, body } = await service.call({ ...request, key });
  expect([status, body.detail]).toEqual([429, expect.stringContaining('1024 of 1024 MiB')]);
});

test('while the disk is low exports wait or are refused, and recording goes on', async () => {
  const { key } = await service.tenant();
  const job = await askForJob(service, key);
  const status = async () =>
    (await service.call({ url: `${exportsUrl}/${job.id}`, key })).body.status;
  const env = { DISK_FREE_MIB_MIN: '1000000' };
  const { app, close } = await serviceOn(service.servingUrl, service.clock, env);
  try {
    const refused = await callOn(app, { ...request, key });
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
    await app.jobs.tick('export');
    expect(await status()).toBe('queued');
    const event = { method: 'POST', url: '/api/audit-logs', key, body: eventOf() } as const;
    expect((await callOn(app, event)).status).toBe(201);
    const metrics = await callOn(app, { url: '/metrics', key: null });
    expect(metrics.text).toMatch(/^indelible_disk_free_bytes \d+/m);
    // A process with room makes it.
    service.clock.now += 60_000;
    await service.app.jobs.tick('export');
    expect(await status()).toBe('ready');
  } finally {
    await close();
  }
});

test('doctor warns of a low disk, and fails on a full one', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'indelible-disk-'));
  const objectStoreUrl = pathToFileURL(join(dataDir, 'objects')).href;
  const look = (diskBytesMin: number) => diagnoseDisk({ dataDir, objectStoreUrl, diskBytesMin });
  expect(await look(0)).toMatchObject({ check: 'disk', level: 'ok' });
  expect(await look(2 ** 60)).toMatchObject({ level: 'warn', detail: /\d MiB are free/ });
  // File systems of the kernel have no free bytes.
  const full = existsSync('/proc') ? '/proc' : '/dev';
  expect(await diagnoseDisk({ dataDir: full, objectStoreUrl, diskBytesMin: 1 })).toMatchObject({
    level: 'fail',
    detail: expect.stringMatching(/0 MiB are free.*recording/),
  });
});
