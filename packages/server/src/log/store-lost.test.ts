import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { objectOf } from '@indelible/testing/object-of';
import { rewindable } from '@indelible/testing/rewindable';
import { startS3Server } from '@indelible/testing/s3-server';
import { callOn } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { openSigner } from '../crypto/signer.ts';
import { startService } from '../main.ts';
import { diagnose } from '../operations/doctor.ts';
import { checkRounds } from './check-rounds.ts';
import { roundName } from './round.ts';

/* The object store goes away while the service runs, and comes back: no origin gets a fork. */

const s3 = await startS3Server();

/** An installation with two published rounds. */
async function installation(more: { OBJECT_STORE_URL?: string } = {}) {
  const service = await rewindable(more);
  const tenant = await service.tenant();
  for (const count of [3, 2]) {
    await service.record(tenant.key, count);
    await service.tick();
  }
  const rounds = () => service.objects.list('checkpoints');
  const ready = async (app = service.app) => {
    const { status, body } = await callOn(app, { url: '/readyz', key: null });
    return [status, body.status];
  };
  /** The tenant's last checkpoint has so many entries. */
  const signed = async (app = service.app) => (await checkpointOf(app, tenant.key)).size;
  const doctor = async () => {
    const findings = await diagnose({ ...service.env, DATABASE_URL: service.servingUrl });
    return findings.find(({ check }) => check === 'object store');
  };
  const fsck = async () => {
    const signer = openSigner(join(service.dataDir, 'signing-key.pem'), false);
    const found: string[] = [];
    for await (const { findings } of checkRounds({ ...service, sha, signer })) {
      found.push(...findings.map(({ code }) => code));
    }
    return found;
  };
  const another = () => service.process(more);
  return { ...service, ...tenant, another, rounds, ready, signed, doctor, fsck };
}

type Installation = Awaited<ReturnType<typeof installation>>;

const onFiles = await installation();
const onS3 = await installation({ OBJECT_STORE_URL: await s3.newUrl() });

/** Takes the store away; returns how it comes back. */
type Lose = (service: Installation) => Promise<() => Promise<void>>;

const otherIdentity = JSON.stringify({ installation: '7a0c1d52-43b5-4b64-9a5e-0c3b1f0b7f11' });

const stray = `${onFiles.store}.stray`;

/** What the service makes in place of the folder becomes `stray`. */
const loseFolder =
  (replace: (store: string) => void): Lose =>
  async ({ store }) => {
    renameSync(store, `${store}.away`);
    replace(store);
    return async () => {
      rmSync(stray, { recursive: true, force: true });
      if (existsSync(store)) renameSync(store, stray);
      renameSync(`${store}.away`, store);
    };
  };

async function* one(body: Uint8Array) {
  yield body;
}

const refusing = (which: RegExp): Lose => {
  return async () => {
    s3.fault((request) => (which.test(request) ? 403 : undefined));
    return async () => s3.fault(null);
  };
};

const losses: [string, Installation, Lose][] = [
  ['a folder that is away', onFiles, loseFolder(() => {})],
  ['a folder that is emptied', onFiles, loseFolder((store) => mkdirSync(store))],
  [
    'a folder that is replaced by another store',
    onFiles,
    loseFolder((store) => {
      mkdirSync(store);
      writeFileSync(join(store, 'installation.json'), otherIdentity);
    }),
  ],
  [
    'a folder that is replaced by an older copy of itself',
    onFiles,
    loseFolder((store) => {
      cpSync(`${store}.away`, store, { recursive: true });
      const [last = ''] = readdirSync(join(store, 'checkpoints')).sort().reverse();
      rmSync(join(store, 'checkpoints', last));
    }),
  ],
  ['a bucket that is away', onS3, refusing(/./)],
  ['a bucket that is read-only', onS3, refusing(/^PUT/)],
  [
    'a bucket that is emptied',
    onS3,
    async ({ objects, rounds }) => {
      const names = ['installation.json', ...(await rounds())];
      const bodies = await Promise.all(names.map((name) => objectOf(objects, name)));
      for (const name of names) await objects.remove(name);
      return async () => {
        for (const [n, name] of names.entries()) {
          await objects.putStream(name, one(bodies[n] ?? Buffer.of()));
        }
      };
    },
  ],
  [
    'a bucket that is replaced by another store',
    onS3,
    async ({ objects }) => {
      const name = 'installation.json';
      const body = (await objectOf(objects, name)) ?? Buffer.of();
      await objects.putStream(name, one(Buffer.from(otherIdentity)));
      return async () => void (await objects.putStream(name, one(body)));
    },
  ],
];

test.each(losses)(
  '%s gets nothing, every place says so, and it misses nothing later',
  async (...given) => {
    const [, service, lose] = given;
    const { key, metric, tick } = service;
    const [size, rounds] = [await service.signed(), await service.rounds()];
    rmSync(stray, { recursive: true, force: true });
    const back = await lose(service);
    await service.record(key, 250);
    await tick();
    await tick();
    expect(await service.signed()).toBe(size);
    expect(await service.ready()).toEqual([200, 'store_lost']);
    expect(await metric('indelible_store_lost')).toBe(1);
    expect((await service.doctor())?.level).toBe('fail');
    expect((await service.post(key)).status).toBe(201);
    await back();
    const written = [rounds.length, rounds.length + 1].map((round) =>
      join(stray, roundName(round)),
    );
    expect(written.filter((path) => existsSync(path))).toEqual([]);
    await tick();
    expect(await service.ready()).toEqual([200, 'ok']);
    expect(await metric('indelible_store_lost')).toBe(0);
    expect(await service.signed()).toBe(size + 251);
    expect(await service.rounds()).toEqual([...rounds, roundName(rounds.length + 1)]);
    expect(await service.fsck()).toEqual([]);
    expect((await service.doctor())?.level).toBe('ok');
  },
);

test.each(losses)('%s, and a restored database after it, make no fork', async (...given) => {
  const [, service, lose] = given;
  const { key, backups } = service;
  const backup = await backups.take();
  const size = await service.signed();
  const back = await lose(service);
  await service.record(key, 250);
  await service.tick();
  await back();
  expect(await service.signed()).toBe(size);
  await backups.restore(backup);
  const started = await service.another();
  await started.checkpoints.tick();
  await service.record(key, 102, started);
  await started.checkpoints.tick();
  expect(await service.signed(started)).toBe(size + 102);
  if (service === onFiles) await service.intact(service.id, stray);
});

/* Rounds that the store has lost. */

test('rounds before the last one that the store has lost are published again by a start', async () => {
  const service = await installation();
  const { store } = service;
  const path = join(store, roundName(1));
  const bytes = readFileSync(path);
  rmSync(path);
  expect(await service.doctor()).toMatchObject({
    level: 'fail',
    detail: expect.stringContaining(`${roundName(1)}: the next start publishes them again`),
  });
  expect(await service.fsck()).toEqual(['missing_round']);
  await (await service.another()).checkpoints.tick();
  expect(readFileSync(path)).toEqual(bytes);
  expect((await service.doctor())?.level).toBe('ok');
  expect(await service.fsck()).toEqual([]);

  // What the service has not signed is not published, though the database has it.
  rmSync(path);
  const owner = await service.newOwner();
  await owner.query("UPDATE round_objects SET object = '{}' WHERE round = 1");
  await (await service.another()).checkpoints.tick();
  expect(await service.rounds()).toEqual([roundName(2)]);
});

test('a lost last round stops signing until the operator restores it', async () => {
  const service = await installation();
  const { key, store } = service;
  const last = join(store, roundName(2));
  const bytes = readFileSync(last);
  rmSync(last);
  await service.record(key, 1);
  await service.tick();
  expect(await service.rounds()).toEqual([roundName(1)]);
  expect(await service.ready()).toEqual([200, 'store_lost']);
  expect((await service.doctor())?.level).toBe('fail');
  writeFileSync(last, bytes);
  await service.tick();
  expect(await service.rounds()).toEqual([1, 2, 3].map(roundName));
  expect(await service.fsck()).toEqual([]);
  expect(await service.ready()).toEqual([200, 'ok']);
  await service.intact(service.id);
});

test('a folder that has vanished is not made anew by a start', async () => {
  const { env, store } = await installation();
  renameSync(store, `${store}.away`);
  const start = startService({ ...env, PORT: '0', LOG_LEVEL: 'silent' });
  await expect(start).rejects.toThrow('does not hold what this installation has published');
  expect(existsSync(store)).toBe(false);
});
