import { createHash } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { uuidFromTypeId } from '@indelible/protocol';
import { poolEvents, recordAll, tenantWithPool } from '@indelible/testing/event-pool';
import { askForJob, download, exportsUrl, exportUntil, hasEnded } from '@indelible/testing/exports';
import { expectLogIntact } from '@indelible/testing/intact';
import { at, day, tenantOf } from '@indelible/testing/retention-setup';
import {
  callOn,
  eventOf,
  serviceOn,
  type TestService,
  testService,
} from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { write } from '../postgres/db.ts';
import { progressExport, requeueExport } from './store.ts';

/** `waiting` begins to work when all its exports have been asked for. */
const [service, waiting] = await Promise.all([testService(), testService()]);
service.app.jobs.start();
afterAll(() => Promise.all([service.close(), waiting.close()]));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** What the tenant's log says of an export, oldest first. */
async function recordsOf(key: string, exportId: string) {
  const resource = uuidFromTypeId('exp_', exportId);
  const url = `/api/audit-logs?resource_id=${resource}&include=state&sort=sequence&limit=500`;
  return (await service.call({ url, key })).body.data;
}

test('a job makes the file that would have been sent at once', async () => {
  const { id, key } = await tenantWithPool(service, 600);
  const filters = { resource: ['!export', '!tenant'] };
  for (const format of ['csv', 'ndjson']) {
    const job = await askForJob(service, key, { filters, format });
    const ready = await exportUntil(service, key, job.id, hasEnded);
    const atOnce = await service.call({
      method: 'POST',
      url: exportsUrl,
      key,
      body: { filters, format },
    });
    const file = await download(service, key, job.id);
    expect(file.text).toBe(atOnce.text);
    expect(ready).toMatchObject({
      status: 'ready',
      rowsTotal: ready.rowsDone,
      bytes: Buffer.byteLength(file.text),
      sha256: sha256(file.text),
      expiresAt: new Date(service.clock.now + 7 * 86_400_000).toISOString(),
    });
    const [requested, ended] = await recordsOf(key, job.id);
    expect(requested).toMatchObject({ action: 'access', after: { mode: 'job', filters } });
    expect(ended).toMatchObject({
      action: 'export',
      after: { outcome: 'ready', rows: ready.rowsDone, bytes: ready.bytes, sha256: ready.sha256 },
    });
  }
  await expectLogIntact(service, id);
});

test('a waiting export is made as of its request: nothing later, nothing hidden since, nothing cancelled', async () => {
  const later = await askThenRecord();
  const hidden = await askThenHide();
  const cancelled = await askThenCancel();
  const crowd = await askForMany();
  waiting.app.jobs.start();
  await holdsNothingLater(later);
  expect(await exportUntil(waiting, hidden.key, hidden.id, hasEnded)).toMatchObject({
    status: 'ready',
    rowsDone: 1,
  });
  await haveAllEnded(crowd);
  await leavesNoFile(cancelled);
});

/** Events with moments before the request, which are recorded after it. */
async function askThenRecord() {
  const { id, key } = await waiting.tenant();
  await recordAll(waiting, key, poolEvents(500, waiting.clock.now, 20, 7));
  const { text: before } = await waiting.call({ url: '/api/audit-logs?limit=500', key });
  const job = await askForJob(waiting, key);
  await recordAll(waiting, key, poolEvents(500, waiting.clock.now, 20, 8));
  return { tenantId: id, key, id: job.id, before };
}

async function holdsNothingLater({
  tenantId,
  key,
  id,
  before,
}: Awaited<ReturnType<typeof askThenRecord>>) {
  await exportUntil(waiting, key, id, hasEnded);
  const file = await download(waiting, key, id);
  const rows = file.text.trimEnd().split('\r\n').slice(1);
  expect(rows).toHaveLength(502);
  const newest = JSON.parse(before).data.map((event: { id: string }) => event.id);
  expect(rows.slice(0, 500).map((row) => row.split(',')[0])).toEqual(newest);
  await expectLogIntact(waiting, tenantId);
}

/** An event that the plan hides before the file is made. */
async function askThenHide() {
  const { key } = await tenantOf(waiting, 'Starter', 30);
  const then = waiting.clock.now - 29 * day;
  await at(waiting, then, () => recordAll(waiting, key, [eventOf({})]));
  const job = await askForJob(waiting, key, { filters: { action: 'update' } });
  waiting.clock.now += 5 * day;
  const list = await waiting.call({ url: '/api/audit-logs?action=update', key });
  expect(list.body.data).toEqual([]);
  return { key, id: job.id };
}

async function askThenCancel() {
  const { id, key } = await waiting.tenant();
  const job = await askForJob(waiting, key);
  const cancel = () => waiting.call({ method: 'DELETE', url: `${exportsUrl}/${job.id}`, key });
  expect((await cancel()).body.status).toBe('cancelled');
  expect((await cancel()).body.status).toBe('cancelled');
  return { tenantId: id, key, id: job.id };
}

async function leavesNoFile({ tenantId, key, id }: Awaited<ReturnType<typeof askThenCancel>>) {
  const other = await askForJob(waiting, key);
  await exportUntil(waiting, key, other.id, hasEnded);
  const { body } = await waiting.call({ url: `${exportsUrl}/${id}`, key });
  expect(body).toMatchObject({ status: 'cancelled', bytes: null });
  const refused = await waiting.call({ url: `${exportsUrl}/${id}/download`, key });
  expect(refused.body.code).toBe('conflict');
  const late = await waiting.call({ method: 'DELETE', url: `${exportsUrl}/${other.id}`, key });
  expect(late.body.code).toBe('conflict');
  const list = `/api/audit-logs?resource=export&action=cancel`;
  expect((await waiting.call({ url: list, key })).body.data).toHaveLength(1);
  await expectLogIntact(waiting, tenantId);
}

async function askForMany() {
  const greedy = await waiting.tenant();
  const modest = await waiting.tenant();
  const many: string[] = [];
  for (let n = 0; n < 8; n++) many.push((await askForJob(waiting, greedy.key)).id);
  const one = await askForJob(waiting, modest.key);
  return { greedy, modest, many, one: one.id };
}

/** Many exports of one tenant, and one of another, all come to their end. */
async function haveAllEnded({ greedy, modest, many, one }: Awaited<ReturnType<typeof askForMany>>) {
  await exportUntil(waiting, modest.key, one, hasEnded);
  for (const id of many) await exportUntil(waiting, greedy.key, id, hasEnded);
}

test('a request whose transaction fails leaves neither record nor export nor job', async () => {
  const { id, key } = await service.tenant();
  const counted = async () =>
    (
      await service.owner.query(
        `SELECT (SELECT count(*) FROM exports WHERE tenant_id = $1) AS exports,
          (SELECT size FROM log_heads WHERE tenant_id = $1) AS size,
          (SELECT count(*) FROM jobs WHERE tenant_id = $1) AS jobs`,
        [id],
      )
    ).rows;
  const before = await counted();
  await service.owner.query('REVOKE INSERT ON jobs FROM indelible_writer');
  const headers = { prefer: 'respond-async' };
  const body = { filters: {}, format: 'csv' };
  const answer = await service.call({ method: 'POST', url: exportsUrl, key, headers, body });
  await service.owner.query('GRANT INSERT ON jobs TO indelible_writer');
  expect(answer.status).toBe(500);
  expect(await counted()).toEqual(before);
});

test('a file is kept for seven days and then gone, at once and for good', async () => {
  const { key } = await service.tenant();
  const job = await askForJob(service, key);
  await exportUntil(service, key, job.id, hasEnded);
  const { headers } = await service.call({ url: `${exportsUrl}/${job.id}/download`, key });
  service.clock.now += 7 * 86_400_000;
  const gone = await service.call({ url: `${exportsUrl}/${job.id}/download`, key });
  expect([gone.status, gone.body.code]).toEqual([410, 'gone']);
  const { body } = await service.call({ url: `${exportsUrl}/${job.id}`, key });
  expect(body.status).toBe('expired');
  const { pathname, search } = new URL(String(headers.location));
  expect((await service.call({ url: `${pathname}${search}`, key: null })).status).toBe(403);
  await service.app.background.run('export-expiry');
  const uuid = uuidFromTypeId('exp_', job.id);
  const { rows } = await service.owner.query('SELECT status, stored FROM exports WHERE id = $1', [
    uuid,
  ]);
  expect(rows).toEqual([{ status: 'expired', stored: false }]);
});

test('an export whose sender was killed has failed within minutes, one still being sent has not', async () => {
  const { key } = await service.tenant();
  const sent = async () => {
    service.clock.now += 1; // so that the newest is the last one made
    const body = { filters: {}, format: 'csv' };
    await service.call({ method: 'POST', url: exportsUrl, key, body });
    const { body: list } = await service.call({ url: `${exportsUrl}?limit=1`, key });
    return String(list.data[0].id);
  };
  const [killed, alive] = [await sent(), await sent()];
  // As the process leaves it that was killed on its way.
  const setRow = (id: string, change: string) =>
    service.owner.query(
      `UPDATE exports SET status = 'running', finished_at = NULL, bytes = NULL, sha256 = NULL, ${change}
       WHERE id = $1`,
      [uuidFromTypeId('exp_', id)],
    );
  const minute = 60_000;
  service.clock.now += 10 * minute;
  await setRow(killed, 'alive_at = NULL');
  await setRow(alive, `alive_at = to_timestamp(${(service.clock.now - minute) / 1_000})`);
  await service.app.background.run('export-expiry');
  const shown = async (id: string) =>
    (await service.call({ url: `${exportsUrl}/${id}`, key })).body;
  expect(await shown(killed)).toMatchObject({
    status: 'failed',
    error: 'every attempt was interrupted',
  });
  expect((await shown(alive)).status).toBe('running');
  const ended = (await recordsOf(key, killed)).at(-1);
  expect(ended.after).toMatchObject({ outcome: 'failed', failure: 'interrupted' });
});

test('a worker that falls silent is replaced, and may come back without doing harm', async () => {
  const first = await testService();
  const other = await serviceOn(first.servingUrl, first.clock);
  try {
    const { id, key } = await first.tenant();
    await recordAll(first, key, poolEvents(1_000, first.clock.now, 20));
    const filters = { resource: '!export' };
    const job = await askForJob(first, key, { filters });
    const uuid = uuidFromTypeId('exp_', job.id);
    // Took the job, began, and is not heard of again.
    const take =
      'UPDATE jobs SET attempts = 1, lease = gen_random_uuid(), due_at = $2 WHERE id = $1';
    await first.owner.query(take, [uuid, new Date(first.clock.now + 30_000)]);
    await first.owner.query(
      `UPDATE exports SET status = 'running', attempt = 1, rows_done = 77, stored = true WHERE id = $1`,
      [uuid],
    );
    const folder = join(first.dataDir, 'objects/exports', id);
    await mkdir(folder, { recursive: true });
    writeFileSync(join(folder, `${uuid}.csv.0123456789ab.tmp`), 'half a file');
    await other.app.jobs.tick('export');
    expect((await callOn(other.app, { url: `${exportsUrl}/${job.id}`, key })).body).toMatchObject({
      status: 'running',
      rowsDone: 77, // its lease has not ended
    });
    first.clock.now += 30_001;
    await other.app.jobs.tick('export');
    const call: TestService['call'] = (options) => callOn(other.app, options);
    const ready = await exportUntil({ call }, key, job.id, hasEnded);
    expect(ready).toMatchObject({ status: 'ready', rowsDone: 1_002 });
    expect(readdirSync(folder)).toEqual([`${uuid}.csv`]);
    const late = { tenantId: id, id: uuid ?? '', attempt: 1 };
    expect(await write(first.db, (tx) => progressExport(tx, late, 78, null))).toBe(false);
    await write(first.db, (tx) => requeueExport(tx, late, 'storage'));
    expect((await exportUntil(first, key, job.id, hasEnded)).status).toBe('ready');
    await expectLogIntact(first, id);
  } finally {
    await other.close();
    await first.close();
  }
});

/** Wherever a crash comes between two steps that last, the next attempt makes the same of it. */
test.each(['before', 'after'])(
  'an attempt lost %s its object is made again with the same bytes',
  async (crash) => {
    const { id, key } = await service.tenant();
    await recordAll(service, key, poolEvents(300, service.clock.now, 20));
    const job = await askForJob(service, key);
    const ready = await exportUntil(service, key, job.id, hasEnded);
    const { text } = await download(service, key, job.id);
    const uuid = uuidFromTypeId('exp_', job.id);
    await recordAll(service, key, poolEvents(100, service.clock.now, 20, 3));
    if (crash === 'before') rmSync(join(service.dataDir, `objects/exports/${id}/${uuid}.csv`));
    await service.owner.query(
      `UPDATE exports SET status = 'running', rows_done = 5, bytes = NULL, sha256 = NULL,
       finished_at = NULL, expires_at = NULL WHERE id = $1`,
      [uuid],
    );
    // The row of its job is there as long as no attempt has come to its end.
    await service.owner.query(
      `INSERT INTO jobs (tenant_id, queue, id, data, attempts, due_at)
        VALUES ($1, 'export', $2, json_build_object('tenantId', $1::uuid, 'id', $2::uuid), 1, 'epoch')`,
      [id, uuid],
    );
    service.app.jobs.wake();
    const again = await exportUntil(service, key, job.id, hasEnded);
    const { sha256, bytes, rowsDone } = ready;
    expect(again).toMatchObject({ status: 'ready', sha256, bytes, rowsDone });
    expect((await download(service, key, job.id)).text).toBe(text);
    await expectLogIntact(service, id);
  },
);
