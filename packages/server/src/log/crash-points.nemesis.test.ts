import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createCatalogue } from '@indelible/protocol';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { rewindable } from '@indelible/testing/rewindable';
import { movedBy, platformKey, sessionSecret } from '@indelible/testing/service';
import { killedEverywhere, Steps } from '@indelible/testing/steps';
import pino from 'pino';
import { expect, test } from 'vitest';
import { buildApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { sha } from '../crypto/sha256.ts';
import { openSigner } from '../crypto/signer.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { openDatabase, type WriterTx, withOwnerSession } from '../postgres/db.ts';
import { recordOwnIn } from '../record/own-events.store.ts';
import { reopenLogs } from './reopen.ts';

/*
 * Signing, rotating the key and reopening are ended at every step, one after the other. Whatever
 * came of it, the next attempt finds its way, and no origin is ever signed in two futures.
 */

async function installation() {
  const service = await rewindable();
  const { id, key } = await service.tenant();
  const keyFile = join(service.dataDir, 'signing-key.pem');
  const record = (count: number) => service.record(key, count);
  const intact = (...stores: string[]) => service.intact(id, ...stores);
  return { ...service, keyFile, id, key, record, intact };
}

type Installation = Awaited<ReturnType<typeof installation>>;

/** A reopening as the command does it, in steps. */
function reopen(
  { ownerUrl, objects, keyFile }: Pick<Installation, 'ownerUrl' | 'objects' | 'keyFile'>,
  steps: Steps,
  newStore = false,
) {
  return withOwnerSession(ownerUrl, (owner) =>
    owner.transaction(async (real) => {
      const tx = steps.connection(real);
      const session = {
        query: tx.query,
        now: Date.now,
        transaction: <T>(work: (tx: WriterTx) => Promise<T>) => work(tx),
      };
      return reopenLogs(tx, {
        sha,
        now: Date.now,
        objects: steps.objects(objects),
        recordOwn: await recordOwnIn(session, createCatalogue(), Date.now),
        openSigner: async () => openSigner(keyFile, false),
        newStore,
      });
    }),
  );
}

test('a reopening that is killed at any of its steps is done again, and forks no log', async () => {
  const service = await installation();
  await service.record(3);
  await service.tick();
  const backup = await service.backups.take();
  await service.record(4);
  await service.tick();
  const lost = await checkpointOf(service.app, service.key);
  await service.backups.restore(backup);
  const steps = await killedEverywhere((each) => reopen(service, each));
  expect(steps).toBeGreaterThan(15);
  await service.record(9);
  await service.tick();
  const next = await checkpointOf(service.app, service.key);
  expect(next.size).toBe(15);
  expect(next.origin).not.toBe(lost.origin);
  await service.intact();
});

test('a reopening in a new store that is killed at any of its steps is done again there', async () => {
  const service = await installation();
  await service.record(3);
  await service.tick();
  const lost = await checkpointOf(service.app, service.key);
  const store = join(service.dataDir, 'new');
  const OBJECT_STORE_URL = pathToFileURL(store).href;
  const objects = openObjectStore(OBJECT_STORE_URL);
  const steps = await killedEverywhere((each) => reopen({ ...service, objects }, each, true));
  expect(steps).toBeGreaterThan(15);
  expect((await objects.list('checkpoints')).length).toBeGreaterThan(1);
  const app = await service.process({ OBJECT_STORE_URL });
  await service.record(1);
  await app.checkpoints.tick();
  const next = await checkpointOf(app, service.key);
  expect(next.size).toBe(lost.size + 2);
  expect(next.origin).not.toBe(lost.origin);
  await service.intact(store);
  await expect(reopen({ ...service, objects }, new Steps(1e6), true)).rejects.toThrow('empty');
});

/** A process that starts, signs one round and ends, in steps. */
async function sign(service: Installation, steps: Steps, SIGNING_KEY_FILE = service.keyFile) {
  const { servingUrl, dataDir, objects, clock } = service;
  const real = openDatabase(servingUrl, { poolSize: 2, onIdleError: () => {} });
  const { writer, recording } = real;
  const db = { ...real, writer: steps.pool(writer), recording: steps.pool(recording) };
  const config = readConfig({
    DATABASE_URL: servingUrl,
    PLATFORM_API_KEY: platformKey,
    DATA_DIR: dataDir,
    SIGNING_KEY_FILE,
  });
  const logger = pino({ level: 'silent' });
  const signer = openSigner(SIGNING_KEY_FILE, false);
  const deps = {
    config,
    db,
    clock: movedBy(clock),
    logger,
    sessionSecret,
    objects: steps.objects(objects),
    signer,
  };
  try {
    const app = await buildApp(deps);
    await app.checkpoints.tick();
    await app.http.close();
  } finally {
    await real.close();
  }
}

test('a process that is killed at any step of a round forks no log, and the next one signs', async () => {
  const service = await installation();
  let size = 2;
  const steps = await killedEverywhere(async (each) => {
    await service.record(1);
    size += 1;
    await sign(service, each);
  });
  expect(steps).toBeGreaterThan(8);
  expect(await service.halted()).toBeNull();
  await service.tick();
  expect((await checkpointOf(service.app, service.key)).size).toBe(size);
  await service.intact();
});

test('a key rotation that is killed at any of its steps is finished, told once, and forks no log', async () => {
  const service = await installation();
  await service.record(1);
  await service.tick();
  const newKey = service.newKeyFile();
  const steps = await killedEverywhere((each) => sign(service, each, newKey));
  expect(steps).toBeGreaterThan(8);
  expect(await service.halted()).toBeNull();
  const { body: log } = await service.call({ url: '/.well-known/indelible-log.json', key: null });
  expect(log.keys).toHaveLength(2);
  const url = '/api/audit-logs?resource=signing_key';
  const { body: told } = await service.call({ url, key: service.key });
  expect(told.data).toHaveLength(1);
  expect((await checkpointOf(service.app, service.key)).size).toBe(4);
  await service.intact();
});
