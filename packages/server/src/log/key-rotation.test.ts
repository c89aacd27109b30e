import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCatalogue } from '@indelible/protocol';
import { checkpointOf, publishedRounds } from '@indelible/testing/checkpoints';
import { expectLogIntact } from '@indelible/testing/intact';
import { rewindable } from '@indelible/testing/rewindable';
import { RunningService } from '@indelible/testing/running-service';
import { callOn, eventOf } from '@indelible/testing/service';
import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../app.ts';
import type { Environment } from '../config.ts';
import { openSigner } from '../crypto/signer.ts';
import { startService } from '../main.ts';
import { openOwnEvents, recordOwnQueued } from '../record/own-events.store.ts';
import { keyAnnouncer } from './key-rotation.ts';

async function installation() {
  const service = await rewindable();
  /** A further process with this key. */
  const process = (SIGNING_KEY_FILE: string) => service.process({ SIGNING_KEY_FILE });
  return { ...service, process };
}

interface Window {
  vkey: string;
  notBefore: string;
  notAfter: string | null;
}

async function windows(app: App): Promise<Window[]> {
  const { body } = await callOn(app, { url: '/.well-known/indelible-log.json', key: null });
  return body.keys;
}

const ticked = async (app: App) => {
  await app.checkpoints.tick();
  return app;
};

/** Records of signing keys that a tenant reads: when each began, and its public key. */
async function announcements(app: App, key: string): Promise<string[]> {
  const url = '/api/audit-logs?resource=signing_key&order=asc&limit=500';
  const { body } = await callOn(app, { url, key });
  const states = body.data.map(async ({ id }: { id: string }) => {
    const event = await callOn(app, { url: `/api/audit-logs/${id}`, key });
    expect(event.body).toMatchObject({ action: 'update', recordedBy: { kind: 'service' } });
    return `${event.body.after.notBefore} ${event.body.after.publicKey}`;
  });
  return Promise.all(states);
}

test('a new key takes over where the old one ends, and every log says so exactly once', async () => {
  const { app, clock, newKeyFile, process, ...service } = await installation();
  const tenants = [await service.tenant('Starter'), await service.tenant(), await service.tenant()];
  await ticked(app);
  expect(await windows(app)).toMatchObject([{ notAfter: null }]);
  for (const { key } of tenants) expect(await announcements(app, key)).toEqual([]);

  clock.now += 60_000;
  const file = newKeyFile();
  const rotated = await ticked(await process(file));
  const [newer, older, ...more] = await windows(rotated);
  expect(more).toEqual([]);
  const began = new Date(clock.now).toISOString();
  expect(newer).toMatchObject({ notBefore: began, notAfter: null });
  expect(older).toMatchObject({ notAfter: began });
  expect(older?.vkey).not.toBe(newer?.vkey);

  // It signs with the new key, and the record is part of what it signs.
  const publicKey = Buffer.from(await openSigner(file, false).publicKey()).toString('base64');
  for (const { id, key } of tenants) {
    const { note, origin, size } = await checkpointOf(rotated, key);
    const named = `/.well-known/indelible-log.json?origin=${encodeURIComponent(origin)}`;
    const { body } = await callOn(rotated, { url: named, key: null });
    const keyId = Buffer.from(/ (\S+)\n$/.exec(note)?.[1] ?? '', 'base64').subarray(0, 4);
    expect(body.keys[0].vkey.split('+')[1]).toBe(keyId.toString('hex'));
    expect(size).toBe(3);
    expect(await announcements(rotated, key)).toEqual([`${began} ${publicKey}`]);
    await expectLogIntact(service, id);
  }

  // Other processes with that key, and later starts, record nothing more.
  await ticked(await process(file));
  await ticked(rotated);
  for (const { key } of tenants) expect(await announcements(rotated, key)).toHaveLength(1);
  expect(await windows(rotated)).toHaveLength(2);
});

test('a process that still has the old key no longer signs', async () => {
  const { app, newKeyFile, process, dataDir, clock, ...service } = await installation();
  const { id, key } = await service.tenant();
  await ticked(app);
  clock.now += 1_000;
  const rotated = await ticked(await process(newKeyFile()));
  const rounds = publishedRounds(dataDir).length;
  const { key: writer } = await service.tenant();
  await ticked(app);
  expect(publishedRounds(dataDir)).toHaveLength(rounds);
  expect(await service.metric('indelible_checkpoint_failures_total')).toBe(1);
  const asked = await callOn(app, { url: '/api/audit-logs/checkpoint', key: writer });
  expect(asked.status).toBe(503);
  // The other one signs for all.
  await ticked(rotated);
  expect((await checkpointOf(app, writer)).size).toBe(2);
  expect((await checkpointOf(app, key)).size).toBe(3);
  await expectLogIntact(service, id);
});

test('a key made by default replaces none: that process says so at its start, and records on', async () => {
  const { app, dataDir, ...service } = await installation();
  const { id, key } = await service.tenant();
  await ticked(app);
  // A second host that is started without the key makes a key of its own.
  const otherDataDir = join(dataDir, 'of-another-host');
  const start = async (env: Environment) => {
    const { DATABASE_OWNER_URL: _, ...shared } = service.env;
    const started = new RunningService({ ...shared, DATA_DIR: otherDataDir, ...env });
    onTestFinished(async () => void (await started.end('SIGKILL')));
    return started.started();
  };
  const second = await start({});
  expect(second.log).toMatch(/"level":50.*signing-key\.pem in DATA_DIR.*SIGNING_KEY_FILE/);
  const { text } = await second.call({ path: '/metrics', key: null });
  expect(text).toMatch(/^indelible_checkpoint_failures_total [1-9]/m);
  const path = '/api/audit-logs';
  const posted = await second.call({ method: 'POST', path, key, body: eventOf() });
  expect(posted.status).toBe(201);
  const proof = `/api/audit-logs/${posted.body.id}/proof`;
  expect((await second.call({ path: proof, key })).status).toBe(503);
  // The first one signs for both, and no log has heard of a new key.
  expect((await callOn(app, { url: proof, key })).status).toBe(200);
  expect((await second.call({ path: proof, key })).status).toBe(200);
  expect(await announcements(app, key)).toEqual([]);
  expect(await windows(app)).toHaveLength(1);
  await second.end('SIGTERM');
  // Named by the operator it takes over: the other one may be lost.
  const named = await start({ SIGNING_KEY_FILE: join(otherDataDir, 'signing-key.pem') });
  expect(named.log).not.toMatch(/signing|key/i);
  expect(await windows(app)).toHaveLength(2);
  expect(await announcements(app, key)).toHaveLength(1);
  await named.end('SIGTERM');
  await expectLogIntact(service, id);
});

test('a key that is taken up again begins another window, and the logs say so again', async () => {
  const { app, newKeyFile, process, clock, ...service } = await installation();
  const { id, key } = await service.tenant();
  const files = [newKeyFile(), newKeyFile()];
  await ticked(app);
  // At the same moment by its clock, which is no reason for windows to overlap.
  for (const n of [0, 1, 0, 1]) await ticked(await process(files[n] ?? ''));
  const all = await windows(app);
  expect(all).toHaveLength(5);
  for (const [n, { notBefore, notAfter }] of all.entries()) {
    expect(notAfter).toBe(n === 0 ? null : all[n - 1]?.notBefore);
    expect(notAfter === null || notBefore < notAfter).toBe(true);
  }
  expect(all[0]?.vkey).toBe(all[2]?.vkey);
  expect(all[1]?.vkey).toBe(all[3]?.vkey);
  expect(await announcements(app, key)).toHaveLength(4);
  await expectLogIntact(service, id);
});

test('a start that was cut off while it told the logs is finished by the next one', async () => {
  const { app, db, newKeyFile, process, clock, ...service } = await installation();
  const tenants = await Promise.all(Array.from({ length: 5 }, () => service.tenant()));
  await ticked(app);
  clock.now += 1_000;
  const file = newKeyFile();
  // Two logs are told, then the process is gone.
  const record = recordOwnQueued(
    await openOwnEvents(db.writer, defaultCatalogue, () => clock.now),
    app.groupCommit,
  );
  let told = 0;
  const cutOff = keyAnnouncer({
    db,
    now: () => clock.now,
    signer: openSigner(file, false),
    isNamed: true,
    recordQueued: async (tenantId, event, uuid) => {
      if (told++ >= 2) throw new Error('gone');
      return record(tenantId, event, uuid);
    },
  })();
  await expect(cutOff).rejects.toThrow('gone');
  const halfway = await Promise.all(tenants.map(({ key }) => announcements(app, key)));
  expect(halfway.flat()).toHaveLength(2);
  clock.now += 5_000;
  const next = await ticked(await process(file));
  const said = await Promise.all(tenants.map(({ key }) => announcements(next, key)));
  expect(said.map((each) => each.length)).toEqual([1, 1, 1, 1, 1]);
  expect(new Set(said.flat()).size).toBe(1);
  expect(await windows(next)).toHaveLength(2);
  for (const { id } of tenants) await expectLogIntact(service, id);
});

test('a log that cannot be told just now keeps no other from being signed, and is told later', async () => {
  const { app, owner, newKeyFile, process, clock, ...service } = await installation();
  const [stuck, other] = [await service.tenant(), await service.tenant()];
  await ticked(app);
  clock.now += 1_000;
  const rotated = await process(newKeyFile());
  await owner.query('BEGIN');
  await owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [stuck.id]);
  await ticked(rotated);
  expect(await announcements(rotated, other.key)).toHaveLength(1);
  expect((await checkpointOf(rotated, other.key)).size).toBe(3);
  await owner.query('COMMIT');
  await ticked(rotated);
  expect(await announcements(rotated, stuck.key)).toHaveLength(1);
  expect(await announcements(rotated, other.key)).toHaveLength(1);
  expect((await checkpointOf(rotated, stuck.key)).size).toBe(3);
  for (const { id } of [stuck, other]) await expectLogIntact({ owner }, id);
});

const startWith = async ({ env }: { env: Environment }, more: Environment) => {
  const started = await startService({ ...env, PORT: '0', LOG_LEVEL: 'silent', ...more });
  await started.stop();
};

test('a key file that others can read, or that is missing, stops the start with a sentence', async () => {
  const { newKeyFile, ...service } = await installation();
  const SIGNING_KEY_FILE = newKeyFile();
  await startWith(service, { SIGNING_KEY_FILE });
  chmodSync(SIGNING_KEY_FILE, 0o644);
  await expect(startWith(service, { SIGNING_KEY_FILE })).rejects.toThrow(
    /^SIGNING_KEY_FILE: .*open to others .*0600/,
  );
  const missing = `${SIGNING_KEY_FILE}.missing`;
  await expect(startWith(service, { SIGNING_KEY_FILE: missing })).rejects.toThrow(
    /^SIGNING_KEY_FILE: there is no signing key in .*\.missing.*indelible keygen/,
  );
});

test('the host of the origins is set once: another one stops the start with a sentence', async () => {
  const service = await installation();
  const { key } = await service.tenant();
  await ticked(service.app);
  const { origin } = await checkpointOf(service.app, key);
  expect(origin).toMatch(/^localhost\/l\//);
  const LOG_ORIGIN = 'audit.example.com';
  await expect(startWith(service, { LOG_ORIGIN })).rejects.toThrow(
    'LOG_ORIGIN is audit.example.com, but the logs have the origin localhost: set LOG_ORIGIN to it',
  );
  await startWith(service, { LOG_ORIGIN: 'localhost' });
  // A public address that comes later changes no origin either.
  await startWith(service, { PUBLIC_URL: 'https://audit.example.com', METRICS_TOKEN: 'a-token' });
  expect((await checkpointOf(service.app, key)).origin).toBe(origin);
});
