import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { expectNoFork } from '@indelible/testing/no-fork';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, test } from 'vitest';
import type { Environment } from '../config.ts';
import { openSigner } from '../crypto/signer.ts';
import { startService } from '../main.ts';
import { diagnose } from '../operations/doctor.ts';
import { reopenLog } from '../operations/reopen.command.ts';

/* Database and object store know each other: no process publishes in the wrong store. */

async function installation() {
  const service = await rewindable();
  const env: Environment = { ...service.env, PORT: '0', LOG_LEVEL: 'silent' };
  /** The installation with another folder as its object store. */
  const withStore = (name: string) => {
    const path = store(name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return { ...env, OBJECT_STORE_URL: pathToFileURL(path).href };
  };
  const store = (name: string) => join(service.dataDir, name);
  return { ...service, env, withStore, store };
}

async function starts(env: Environment): Promise<void> {
  const started = await startService(env);
  await started.stop();
}

const notThere = /does not hold what this installation has published .*000000000001\.json.*copy/;
const another = /belongs to another installation .* name the store that this installation has used/;

test('an empty store is refused at start, by doctor and by reopen, and none of them writes to it', async () => {
  const { tenant, tick, withStore, store, env } = await installation();
  await tenant();
  await tick();
  const empty = withStore('empty');
  await expect(startService(empty)).rejects.toThrow(notThere);
  await expect(reopenLog(empty)).rejects.toThrow(notThere);
  const found = (await diagnose(empty)).find(({ check }) => check === 'object store');
  expect(found).toMatchObject({ level: 'fail', detail: expect.stringMatching(notThere) });
  expect(() => readFileSync(join(store('empty'), 'installation.json'))).toThrow('ENOENT');
  await starts(env);
});

test('a store of another installation is refused at start and by reopen', async () => {
  const [first, second] = [await installation(), await installation()];
  for (const { tenant, tick } of [first, second]) {
    await tenant();
    await tick();
  }
  const OBJECT_STORE_URL = pathToFileURL(second.store('objects')).href;
  await expect(startService({ ...first.env, OBJECT_STORE_URL })).rejects.toThrow(another);
  await expect(reopenLog({ ...first.env, OBJECT_STORE_URL })).rejects.toThrow(/cannot be reopened/);
  const fresh = await installation();
  await expect(startService({ ...fresh.env, OBJECT_STORE_URL })).rejects.toThrow(
    /in use by another installation.*store, or a prefix of a bucket, of its own/,
  );
});

test('a store that was copied with all its objects serves, and so does a first start', async () => {
  const { tenant, tick, withStore, store, env, app } = await installation();
  await starts(env);
  const { key } = await tenant();
  await tick();
  const { note } = await checkpointOf(app, key);
  cpSync(store('objects'), store('copy'), { recursive: true });
  await starts(withStore('copy'));
  expect((await checkpointOf(app, key)).note).toBe(note);
});

test('a store of an earlier release, which has no identity, is known by its last round', async () => {
  const { tenant, tick, store, env, owner } = await installation();
  await tenant();
  await tick();
  rmSync(join(store('objects'), 'installation.json'));
  await owner.query('UPDATE installation SET store_id = NULL');
  await starts(env);
  const { rows } = await owner.query('SELECT store_id FROM installation');
  const { installation: id } = JSON.parse(
    readFileSync(join(store('objects'), 'installation.json'), 'utf8'),
  );
  expect(rows).toEqual([{ store_id: id }]);
});

test('before the first checkpoint too, a second host with a store of its own is refused', async () => {
  const { withStore, store, env, tenant } = await installation();
  const [first, second] = [withStore('of-host-1'), withStore('of-host-2')];
  const started = await Promise.allSettled([first, second].map((host) => startService(host)));
  const [refused] = started.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(String(refused)).toMatch(/not the one that this installation began with/);
  for (const one of started) if (one.status === 'fulfilled') await one.value.stop();
  const isFirst = started[0]?.status === 'rejected';
  const [lost, lostPath] = isFirst ? [first, store('of-host-1')] : [second, store('of-host-2')];
  await expect(reopenLog(lost)).rejects.toThrow(/not the one that this installation began with/);
  expect(readdirSync(lostPath)).toEqual([]);
  await expect(startService(env)).rejects.toThrow(/--new-store` begins in this one/);
  expect(await reopenLog(env, { newStore: true })).toEqual([]);
  await starts(env);
  await tenant();
});

test('a first start that was killed once it had named the store is made good by the next', async () => {
  const { store, env, owner } = await installation();
  await starts(env);
  await owner.query('UPDATE installation SET store_id = NULL');
  await starts(env);
  const { rows } = await owner.query('SELECT store_id FROM installation');
  expect(readFileSync(join(store('objects'), 'installation.json'), 'utf8')).toBe(
    `${JSON.stringify({ installation: rows[0].store_id })}\n`,
  );
});

test('a store that lost every round is refused as an empty one is', async () => {
  const { tenant, tick, store, env } = await installation();
  await tenant();
  await tick();
  rmSync(join(store('objects'), 'checkpoints'), { recursive: true });
  await expect(reopenLog(env)).rejects.toThrow(notThere);
});

test('in a new store after the loss of the former one every log begins anew', async () => {
  const { withStore, owner, backups, ...service } = await installation();
  const { id, key } = await service.tenant();
  await service.tick();
  const { origin, size } = await checkpointOf(service.app, key);
  const installationKey = async () =>
    (await owner.query<{ seed: Buffer }>('SELECT seed FROM installation_key')).rows[0]?.seed;
  const former = await installationKey();
  const empty = withStore('new');
  writeFileSync(join(service.store('new'), 'readme'), 'not an object of the service');
  expect(await reopenLog(empty, { newStore: true })).toMatchObject([{ tenantId: id, size }]);
  await expect(reopenLog(empty, { newStore: true })).rejects.toThrow(/empty object store/);
  expect(await reopenLog(empty)).toMatchObject([{ tenantId: id, size: size + 1 }]);
  expect(await installationKey(), 'a copy signs with a key of its own').not.toEqual(former);
  const { rows } = await owner.query('SELECT log_id::text FROM log_heads');
  expect(origin.endsWith(rows[0].log_id.replaceAll('-', ''))).toBe(false);
  // A host that still names the former store would find other rounds there, and stop all others.
  await expect(startService(service.env)).rejects.toThrow(another);
  await starts(empty);
  expect((await service.post(key)).status).toBe(201);
  await expectNoFork(backups, service.store('objects'), service.store('new'));
});

test('the logs are not reopened while a process serves, nor does one start meanwhile', async () => {
  const { env, tenant, tick, dataDir } = await installation();
  await tenant();
  await tick();
  const serving = await startService(env);
  await expect(reopenLog(env)).rejects.toThrow(
    /cannot be reopened: a service is running on this database: stop every process/,
  );
  await serving.stop();
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const reopening = reopenLog(env, {
    openSigner: async () => {
      begun.resolve();
      await goOn.promise;
      return openSigner(join(dataDir, 'signing-key.pem'), false);
    },
  });
  await begun.promise;
  await expect(startService(env)).rejects.toThrow(/being reopened: start the service when/);
  goOn.resolve();
  expect(await reopening).toHaveLength(1);
  await starts(env);
});
