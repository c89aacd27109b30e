import { mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkpointOf, publishedRounds } from '@indelible/testing/checkpoints';
import { endServer } from '@indelible/testing/embedded-postgres-service';
import { makeDataDir, newFolder } from '@indelible/testing/folders';
import { copyFolder } from '@indelible/testing/global-setup';
import { expectLogIntact, rootStored } from '@indelible/testing/intact';
import { rewindable } from '@indelible/testing/rewindable';
import { callService, RunningService } from '@indelible/testing/running-service';
import { eventOf, platformKey } from '@indelible/testing/service';
import type pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { openSigner } from '../crypto/signer.ts';
import { startService } from '../main.ts';
import { diagnose } from '../operations/doctor.ts';
import { reopenLog } from '../operations/reopen.command.ts';
import { logIdOf, roundName, writeRound } from './round.ts';

test('after a rewound database each log goes on under a new origin, which begins with what was published', async () => {
  const service = await rewindable();
  const { app, call, backups, env, record, tick, dataDir } = service;
  const [losing, quiet] = [await service.tenant(), await service.tenant()];
  await record(losing.key, 3);
  await tick();
  const kept = await checkpointOf(app, quiet.key);
  const backup = await backups.take();
  await record(losing.key, 7);
  await tick();
  const late = await service.tenant();
  await tick();
  const future = await checkpointOf(app, losing.key);
  const lost = await checkpointOf(app, late.key);
  const rounds = publishedRounds(dataDir);
  await backups.restore(backup);
  const db = { owner: await service.newOwner() };
  const rootBefore = await rootStored(db, losing.id);
  await tick();
  expect((await call({ url: '/readyz', key: null })).status).toBe(503);

  const reopened = await reopenLog(env);
  const logId = (
    await db.owner.query('SELECT log_id::text FROM log_heads WHERE tenant_id = $1', [losing.id])
  ).rows[0].log_id;
  const { size: keptSize } = kept;
  expect(reopened).toHaveLength(3);
  expect(reopened).toEqual([
    ...reopened.slice(0, 2),
    // Of a tenant that came after the backup nothing is left to go on with.
    {
      tenantId: null,
      previousLogId: logIdOf(lost.origin),
      logId: null,
      size: 0,
      publishedSize: lost.size,
    },
  ]);
  expect(reopened.find(({ tenantId }) => tenantId === losing.id)).toEqual({
    tenantId: losing.id,
    previousLogId: logIdOf(future.origin),
    logId,
    size: 5,
    publishedSize: 12,
  });
  expect(reopened.find(({ tenantId }) => tenantId === quiet.id)).toMatchObject({
    previousLogId: logIdOf(kept.origin),
    size: keptSize,
    publishedSize: keptSize,
  });
  expect(logId).not.toBe(logIdOf(future.origin));

  // The same process serves on, and says that it may.
  const [next] = await record(losing.key, 1);
  expect(next?.sequence).toBe(6);
  await tick();
  expect((await call({ url: '/readyz', key: null })).status).toBe(200);
  const { text: metrics } = await call({ url: '/metrics', key: null });
  expect(metrics).toMatch(/^indelible_log_halted 0$/m);

  // The same leaves, then the record of what was published, which the tenant sees.
  const now = await checkpointOf(app, losing.key);
  expect({ origin: now.origin, size: now.size }).toEqual({
    origin: `localhost/l/${logId.replaceAll('-', '')}`,
    size: 7,
  });
  const path = await call({ url: '/api/audit-logs/consistency?first=5&second=7', key: losing.key });
  expect(path.status).toBe(200);
  const first = await call({
    url: `/api/audit-logs?action=reopen&resource=audit_log`,
    key: losing.key,
  });
  expect(first.body.data).toHaveLength(1);
  const { body: reopening } = await call({
    url: `/api/audit-logs/${first.body.data[0].id}`,
    key: losing.key,
  });
  expect(reopening).toMatchObject({
    sequence: 5,
    recordedBy: { kind: 'service' },
    resource: { id: losing.id },
    diff: { entries: { from: 12, to: 5 } },
    after: { lastPublishedCheckpoint: future.note },
  });
  expect(rootBefore).not.toEqual(now.root);
  const oldPath = `/l/${future.origin.slice(-32)}/checkpoint`;
  expect((await call({ url: oldPath, key: losing.key })).status).toBe(404);

  // Rounds go on behind those that exist; what was published before stays where it was.
  const after = publishedRounds(dataDir);
  expect(after.slice(0, rounds.length)).toEqual(rounds);
  expect(after.map(({ round }) => round)).toEqual(after.map((_each, n) => n + 1));
  expect(after.flatMap(({ notes }) => notes)).toContain(future.note);
  // A log that lost nothing has a new origin too, and names its last checkpoint.
  const quietNow = await checkpointOf(app, quiet.key);
  expect(quietNow.origin).not.toBe(kept.origin);
  expect(quietNow.size).toBe(keptSize + 1);
  const url = `/api/audit-logs?action=reopen&resource_id=${quiet.id}&include=state`;
  const ofQuiet = await call({ url, key: quiet.key });
  expect(ofQuiet.body.data[0].after).toEqual({ lastPublishedCheckpoint: kept.note });
  for (const { id } of [losing, quiet]) await expectLogIntact(db, id);
});

test('a reopening without any contradiction begins each log anew, and loses nothing', async () => {
  const { app, env, tick, owner, record, ...service } = await rewindable();
  const { id, key } = await service.tenant();
  await tick();
  const { origin } = await checkpointOf(app, key);
  await record(key, 2);
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 4, publishedSize: 2 }]);
  await tick();
  const now = await checkpointOf(app, key);
  expect(now.size).toBe(5);
  expect(now.origin).not.toBe(origin);
  await expectLogIntact({ owner }, id);
});

test('a reopening that fails changes nothing: the logs stand still as before', async () => {
  const { env, backups, tick, dataDir, record, newOwner, ...service } = await rewindable();
  const { key } = await service.tenant();
  const backup = await backups.take();
  await record(key, 3);
  await tick();
  await backups.restore(backup);
  await tick();
  const owner = await newOwner();
  const before = await logTables(owner);
  expect(before.log_rounds[0].halted).toContain('already published');
  renameSync(join(dataDir, 'signing-key.pem'), join(dataDir, 'elsewhere.pem'));
  await expect(reopenLog(env)).rejects.toThrow(/cannot be reopened: .* set SIGNING_KEY_FILE/);
  const SIGNING_KEY_FILE = join(dataDir, 'elsewhere.pem');
  // What cannot be signed last of all is not done either.
  mkdirSync(join(dataDir, 'objects/checkpoints/000000000002.json'));
  await expect(reopenLog({ ...env, SIGNING_KEY_FILE })).rejects.toThrow(/0+2\.json was written/);
  expect(await logTables(owner)).toEqual(before);
});

test('a login that is not the owner cannot reopen, and is told so in one sentence', async () => {
  const { env, servingUrl } = await rewindable();
  const asServing = { ...env, DATABASE_OWNER_URL: servingUrl };
  await expect(reopenLog(asServing)).rejects.toThrow(
    /^the logs cannot be reopened: .*indelible_owner/,
  );
});

test('a log whose head was deleted keeps its time, although the clock was ahead before', async () => {
  const { app, env, tick, halted, owner, record, ...service } = await rewindable();
  const { id, key } = await service.tenant();
  const aheadUs = (Date.now() + 86_400_000) * 1_000;
  await owner.query('UPDATE log_heads SET last_received_us = $1', [aheadUs]);
  await record(key, 3);
  await tick();
  await owner.query('DELETE FROM log_heads WHERE tenant_id = $1', [id]);
  await tick();
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 5 }]);
  await record(key, 1);
  await tick();
  expect(await halted()).toBeNull();
  expect((await checkpointOf(app, key)).size).toBe(7);
  await expectLogIntact({ owner }, id);
});

test('after an object that another installation wrote is put aside, recording goes on', async () => {
  const { app, call, env, tick, owner, record, dataDir, ...service } = await rewindable();
  const { id, key } = await service.tenant();
  await tick();
  const { origin, note } = await checkpointOf(app, key);
  // A copy of production that has the same store and
  // key grew first: the same log, with another future.
  const other = openSigner(join(dataDir, 'signing-key.pem'), false);
  const notes = [note.replace('\n2\n', '\n5\n')];
  const state = new Uint8Array(32);
  const foreign = { round: 2, at: new Date().toISOString(), notes, state, isReopening: false };
  const next = join(dataDir, 'objects', roundName(2));
  writeFileSync(next, await writeRound(sha, [other], foreign));
  await tick();
  expect((await call({ url: '/readyz', key: null })).status).toBe(503);
  expect(await service.halted()).toContain('another installation');
  rmSync(next);
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 2, publishedSize: 2 }]);
  await record(key, 1);
  await tick();
  expect((await call({ url: '/readyz', key: null })).status).toBe(200);
  const now = await checkpointOf(app, key);
  expect(now.size).toBe(4);
  expect(now.origin).not.toBe(origin);
  await expectLogIntact({ owner }, id);
});

test('a cold copy of the embedded database is found out at the start, and reopened once no process uses it', {
  tags: 'plain',
}, async () => {
  const baseFolder = newFolder();
  const dataDir = join(baseFolder, 'data');
  const env = { DATA_DIR: dataDir, PLATFORM_API_KEY: platformKey, LOG_LEVEL: 'fatal', PORT: '0' };
  onTestFinished(async () => {
    await endServer(dataDir, 'SIGQUIT');
    rmSync(baseFolder, { recursive: true, maxRetries: 10 });
  });
  const serve = async () => {
    const service = await startService(env);
    onTestFinished(() => service.stop());
    return service;
  };
  const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
  const post = ({ url }: { url: string }) =>
    callService(url, { method: 'POST', path: '/api/audit-logs', body: eventOf({ tenantId }) });

  await makeDataDir(dataDir);
  const first = await serve();
  const made = await callService(first.url, {
    method: 'PUT',
    path: `/api/tenants/${tenantId}`,
    body: { name: 'Tenant', plan: 'Pro' },
  });
  expect(made.status).toBe(201);
  expect((await post(first)).body.sequence).toBe(1);
  await first.stop();
  const cluster = join(realpathSync(join(dataDir, 'postgresql')), 'data');
  const copy = join(baseFolder, 'copy');
  await copyFolder(cluster, copy);

  const second = await serve();
  expect((await post(second)).body.sequence).toBe(2);
  await second.stop();
  await rm(cluster, { recursive: true });
  await copyFolder(copy, cluster);

  // A process of its own: its log is looked at.
  const third = new RunningService(env);
  onTestFinished(async () => void (await third.end('SIGKILL')));
  await third.started();
  const refused = await post(third);
  expect(refused.status).toBe(503);
  expect(refused.body.detail).toContain('recording is stopped');
  expect((await third.call({ path: '/readyz', key: null })).status).toBe(503);
  expect(third.log).toMatch(/"level":60.*recording and signing are stopped: checkpoint round \d+/);
  await expect(reopenLog(env)).rejects.toThrow(/in use by process \d+: stop that one first;/);
  const seen = (await diagnose(env)).find(({ check }) => check === 'logs');
  expect(seen).toMatchObject({ level: 'fail', detail: expect.stringContaining('log reopen') });
  expect((await third.call({ path: '/healthz', key: null })).status).toBe(200);
  await third.end('SIGTERM');

  expect(await reopenLog(env)).toMatchObject([{ tenantId, size: 2, publishedSize: 3 }]);
  const fourth = await serve();
  // Readiness has two seconds to be found, which a loaded machine may exceed once.
  const ready = () => callService(fourth.url, { path: '/readyz', key: null });
  await expect.poll(async () => (await ready()).status).toBe(200);
  const recorded = await post(fourth);
  expect({ status: recorded.status, sequence: recorded.body.sequence }).toEqual({
    status: 201,
    sequence: 3,
  });
});

// One after the other: a cluster joins no tables of different nodes.
async function logTables(owner: pg.Client) {
  const rowsOf = async (table: string) => (await owner.query(`SELECT * FROM ${table}`)).rows;
  return {
    log_heads: await rowsOf('log_heads'),
    log_rounds: await rowsOf('log_rounds'),
    log_checkpoints: await rowsOf('log_checkpoints'),
  };
}
