import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Backups } from '@indelible/testing/backup';
import { startS3Server } from '@indelible/testing/s3-server';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import type { Environment } from '../config.ts';
import { newSigningKey } from '../crypto/signer.ts';
import { diagnose } from './doctor.ts';

const service = await testService();
const backups = new Backups(service);
afterAll(() => backups.drop());

const { app, call, dataDir, servingUrl } = service;

/** What doctor says of the logs, with the environment of this installation. */
async function look(changes: Environment = {}) {
  const findings = await diagnose({
    DATABASE_URL: servingUrl,
    DATA_DIR: dataDir,
    PLATFORM_API_KEY: platformKey,
    ...changes,
  });
  return Object.fromEntries(findings.map(({ check, level, detail }) => [check, { level, detail }]));
}

test('a key that may not sign, or will take over, is told before the next start', async () => {
  const sound = { logs: { level: 'ok' }, 'signing key': { level: 'ok' } };
  expect(await look()).toMatchObject(sound);
  await service.tenant();
  await app.checkpoints.tick();
  expect(await look()).toMatchObject(sound);
  const elsewhere = { DATA_DIR: join(dataDir, 'elsewhere') };
  expect((await look(elsewhere))['signing key']).toMatchObject({
    level: 'warn',
    detail: expect.stringContaining('SIGNING_KEY_FILE'),
  });
  const other = join(dataDir, 'other');
  const SIGNING_KEY_FILE = join(dataDir, 'other.pem');
  expect((await look({ SIGNING_KEY_FILE }))['signing key']).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('indelible keygen'),
  });
  writeFileSync(SIGNING_KEY_FILE, newSigningKey(), { mode: 0o600 });
  expect((await look({ SIGNING_KEY_FILE }))['signing key']).toMatchObject({
    level: 'warn',
    detail: expect.stringContaining('the next start rotates to it'),
  });
  mkdirSync(other, { mode: 0o700 });
  writeFileSync(join(other, 'signing-key.pem'), newSigningKey(), { mode: 0o600 });
  expect((await look({ DATA_DIR: other }))['signing key']).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('cannot sign'),
  });
});

test('a bucket that takes no objects, or overwrites them, is a failure before anything is lost', async () => {
  const { servingUrl: DATABASE_URL } = await testService();
  const bare = await startS3Server({ conditional: false });
  const overwriting = { DATABASE_URL, OBJECT_STORE_URL: await bare.newUrl() };
  expect((await look(overwriting))['object store']).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('ignores If-None-Match'),
  });
  const s3 = await startS3Server();
  const sound = { DATABASE_URL, OBJECT_STORE_URL: await s3.newUrl() };
  expect((await look(sound))['object store']?.level).toBe('ok');
  s3.fault((request) => (request.startsWith('PUT') ? 403 : undefined));
  expect((await look(sound))['object store']).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining('no checkpoint can be published: '),
  });
});

test('logs that stand still after a restore are a failure that says what happened and the ways on', async () => {
  const { key } = await service.tenant();
  await app.checkpoints.tick();
  const backup = await backups.take();
  await call({ method: 'POST', url: '/api/audit-logs', key, body: eventOf() });
  await app.checkpoints.tick();
  await backups.restore(backup);
  // No round has run yet: doctor reads what the service has stored, and checks nothing itself.
  expect((await look()).logs).toMatchObject({ level: 'ok' });
  await app.checkpoints.tick();
  const { logs } = await look();
  expect(logs?.level).toBe('fail');
  expect(logs?.detail).toMatch(
    /recording and signing are stopped: checkpoint round \d+ is already published.*older backup.*Restore the newer one, or run `indelible log reopen`/,
  );
});
