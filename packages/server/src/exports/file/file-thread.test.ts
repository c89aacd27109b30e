import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { askForJob, exportRow } from '@indelible/testing/exports';
import { testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { openObjectStore } from '../../objects/open-store.ts';
import { objectName } from './export-file.ts';
import { FileThread } from './file-thread.ts';

const errors: unknown[] = [];
const service = await testService();
const { id, key } = await service.tenant();
await recordAll(service, key, poolEvents(400, service.clock.now, 20));
const row = await exportRow(service, id, await askForJob(service, key));
const database = { databaseUrl: service.servingUrl, poolerUrl: null };
const objectStoreUrl = `file://${service.dataDir}/objects`;
const settings = { ...database, objectStoreUrl };
const files = new FileThread(settings, (e) => errors.push(e));
afterAll(() => files.close());

const stored = () => openObjectStore(objectStoreUrl).list('exports');
const never = new AbortController().signal;

test('a file whose thread ends has failed, and the next one gets a thread again', async () => {
  const lost = files.make(row, never);
  await files.close();
  expect(await lost.outcome).toBe('unexpected');
  const made = files.make(row, never);
  expect(await made.outcome).toMatchObject({ rows: 402 });
  expect(await stored()).toEqual([objectName(row)]);
});

test('files of one thread are made beside each other, and what is not wanted any more leaves nothing', async () => {
  const other = { ...row, id: '018f3a6e-5d1b-7c42-9a10-3f6e2b8d4c01' };
  const [wanted, unwanted] = [files.make(row, never), files.make(other, AbortSignal.abort())];
  expect(await unwanted.outcome).toBe('storage');
  expect(await wanted.outcome).toMatchObject({ rows: 402, sha256: expect.any(Uint8Array) });
  expect(await stored()).toEqual([objectName(row)]);
  expect(errors).toEqual([]);
});

test('a fault in the thread is reported, and ends nothing else', async () => {
  const odd = files.make({ ...row, filters: 'no filter' }, never);
  expect(await odd.outcome).toBe('unexpected');
  expect(errors.map(String)).toEqual([expect.stringContaining('SyntaxError')]);
  expect(await files.make(row, never).outcome).toMatchObject({ rows: 402 });
});
