import { uuidFromTypeId } from '@indelible/protocol';
import { recordAll } from '@indelible/testing/event-pool';
import {
  askForJob,
  download,
  exportsUrl,
  exportUntil,
  hasEnded,
  retryNow,
} from '@indelible/testing/exports';
import { expectLogIntact } from '@indelible/testing/intact';
import { startS3Server } from '@indelible/testing/s3-server';
import { eventOf, testService } from '@indelible/testing/service';
import { startSmtpServer } from '@indelible/testing/smtp-server';
import { afterEach, expect, test } from 'vitest';
import { openObjectStore } from '../objects/open-store.ts';

const s3 = await startS3Server();
const smtp = await startSmtpServer();
const url = await s3.newUrl();
const env = { OBJECT_STORE_URL: url, SMTP_URL: smtp.url };
const service = await testService({
  ...env,
  PUBLIC_URL: 'https://audit.example.com',
  METRICS_TOKEN: 'a-token',
});
service.app.jobs.start();
const tenant = await service.tenant();
await recordStates(tenant.key);
afterEach(() => s3.fault(null));

const stored = () => openObjectStore(url).list('exports');
const failing = (request: string) => (/exports/.test(request) ? 500 : undefined);

/** Events whose states make a file of two parts. */
async function recordStates(key: string): Promise<void> {
  const before = { text: 'x'.repeat(30_000) };
  for (let batch = 0; batch < 2; batch++) {
    const events = Array.from({ length: 145 }, (_, n) => eventOf({ before, after: { batch, n } }));
    await recordAll(service, key, events);
  }
}

test('a file of several parts goes to S3, is taken from there in ranges, and is gone when its time is over', async () => {
  const { id, key } = tenant;
  const filters = { action: 'update' };
  const job = await askForJob(service, key, { format: 'ndjson', filters });
  const ready = await exportUntil(service, key, job.id, hasEnded);
  expect(ready).toMatchObject({ status: 'ready', rowsTotal: ready.rowsDone });
  const parts = s3.requests.filter((line) => /^PUT .*exports.*partNumber=/.test(line));
  expect(parts.length).toBeGreaterThan(1);
  expect(await stored()).toEqual([`exports/${id}/${uuidFromTypeId('exp_', job.id)}.ndjson`]);
  const body = { format: 'ndjson', filters };
  const atOnce = await service.call({ method: 'POST', url: exportsUrl, key, body });
  const { text } = await download(service, key, job.id);
  expect(text === atOnce.text).toBe(true);
  const range = await download(service, key, job.id, { range: 'bytes=8388600-8388620' });
  expect([range.status, range.text]).toEqual([206, text.slice(8_388_600, 8_388_621)]);
  service.clock.now += 7 * 86_400_000;
  await service.app.background.run('export-expiry');
  expect(await stored()).toEqual([]);
  const gone = await service.call({ url: `${exportsUrl}/${job.id}/download`, key });
  expect(gone.body.code).toBe('gone');
  await expectLogIntact(service, id);
});

test('a file that a failing store refused is made again, and whole', async () => {
  const { id, key } = tenant;
  let parts = 0;
  s3.fault((request) => (/partNumber/.test(request) && ++parts > 1 ? 500 : undefined));
  const job = await askForJob(service, key, { format: 'ndjson' });
  const tried = await exportUntil(service, key, job.id, (each) => each.retryReason !== null);
  expect(tried.retryReason).toMatch(
    /could not be written to the object store; the service retries/,
  );
  s3.fault(null);
  expect(await stored()).toEqual([]);
  await retryNow(service, job.id);
  const ready = await exportUntil(service, key, job.id, hasEnded);
  const { text } = await download(service, key, job.id);
  expect(Buffer.byteLength(text)).toBe(ready.bytes);
  expect(text.trimEnd().split('\n')).toHaveLength(ready.rowsDone);
  await expectLogIntact(service, id);
});

test('an export whose store is gone has failed, says why, and tells it by mail', async () => {
  const { id, key } = await service.tenant();
  const body = { notifyEmails: ['audit@example.com'] };
  await service.call({ method: 'PUT', url: `/api/tenants/${id}`, body });
  s3.fault(failing);
  const job = await askForJob(service, key);
  await exportUntil(service, key, job.id, (each) => each.retryReason !== null);
  await retryNow(service, job.id, { isLast: true });
  const failed = await exportUntil(service, key, job.id, ({ notified }) => notified.length > 0);
  expect(failed).toMatchObject({
    status: 'failed',
    retryReason: null,
    sha256: null,
    error: 'the file could not be written to the object store in several attempts',
  });
  const records = '/api/audit-logs?action=export&include=state&resource_id=';
  const resource = uuidFromTypeId('exp_', job.id);
  const { body: log } = await service.call({ url: `${records}${resource}`, key });
  expect(log.data[0].after).toMatchObject({ outcome: 'failed', failure: 'storage' });
  const mails = smtp.received.filter(({ to }) => to.includes('audit@example.com'));
  expect(mails.map(({ parsed }) => parsed.subject)).toEqual(['Your audit log export failed']);
  s3.fault(null);
  expect((await stored()).filter((name) => name.includes(id))).toEqual([]);
  await expectLogIntact(service, id);
});
