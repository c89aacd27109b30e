import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, test } from 'vitest';
import { startService } from '../main.ts';
import { reopenLog } from '../operations/reopen.command.ts';
import { roundName } from './round.ts';

/*
 * Rounds that a restored database does not meet by counting on from its last one: another key
 * signed them, one in between is lost, or objects were moved. None of them makes a fork.
 */

/** A tenant with 5 published entries, and a backup of them. */
async function installation() {
  const service = await rewindable();
  const { id, key } = await service.tenant();
  await service.record(key, 3);
  await service.tick();
  const backup = await service.backups.take();
  /** Records and publishes on, one round each time, as this process. */
  const publish = async (times: number, app = service.app) => {
    for (let time = 0; time < times; time++) {
      await service.record(key, 2);
      await app.checkpoints.tick();
    }
    return checkpointOf(app, key);
  };
  const move = (numbers: readonly number[], from: string, to: string) => {
    mkdirSync(join(to, 'checkpoints'), { recursive: true });
    for (const n of numbers) renameSync(join(from, roundName(n)), join(to, roundName(n)));
  };
  const rounds = () => service.objects.list('checkpoints');
  return { ...service, id, key, backup, publish, move, rounds };
}

test('a backup from before a key rotation meets the rounds of the newer key, and stops', async () => {
  const { id, key, env, backup, backups, publish, process, newKeyFile, ...service } =
    await installation();
  const SIGNING_KEY_FILE = newKeyFile();
  const rotated = await process({ SIGNING_KEY_FILE });
  await rotated.checkpoints.tick();
  const lost = await publish(2, rotated);
  const published = await service.rounds();
  await backups.restore(backup);
  for (const behind of [service.app, await process()]) {
    await service.record(key, 1).catch(() => {}); // stopped by the one before
    await behind.checkpoints.tick();
    expect(await service.halted()).toMatch(/newer key .* set SIGNING_KEY_FILE to the newest key/);
    expect(await service.rounds()).toEqual(published);
  }
  // Nor is it reopened with the key that was replaced, perhaps because it was stolen.
  await expect(reopenLog(env)).rejects.toThrow(/set SIGNING_KEY_FILE to the newest key/);
  expect(await reopenLog({ ...env, SIGNING_KEY_FILE })).toMatchObject([{ tenantId: id }]);
  const again = await process({ SIGNING_KEY_FILE });
  const next = await publish(1, again);
  expect(next.origin).not.toBe(lost.origin);
  await service.intact(id);
});

test.each(['the process that ran on', 'a process that starts'])(
  'a database restored to just before a lost round does not sign in its place: %s',
  async (which) => {
    const { id, env, backup, backups, publish, process, store, ...service } = await installation();
    const lost = await publish(3);
    rmSync(join(store, roundName(2)));
    await backups.restore(backup);
    const app = which === 'a process that starts' ? await process() : service.app;
    await service.record(service.key, 1);
    await app.checkpoints.tick();
    expect(await service.rounds()).not.toContain(roundName(2));
    expect(await service.halted()).toContain(`but ${roundName(3)} is there`);
    expect(await reopenLog(env)).toHaveLength(1);
    const next = await publish(1, app);
    expect(next.origin).not.toBe(lost.origin);
    await service.intact(id);
  },
);

test('a process that saw the rounds of another looks behind a lost one just the same', async () => {
  const { backups, publish, process, store, ...service } = await installation();
  const other = await process();
  await publish(1, other);
  const backup = await backups.take();
  await publish(2, other);
  await service.tick();
  rmSync(join(store, roundName(3)));
  await backups.restore(backup);
  await service.record(service.key, 1);
  await service.tick();
  expect(await service.halted()).toContain(`but ${roundName(4)} is there`);
});

test('newest rounds that were moved away, given up and brought back make no fork', async () => {
  const { id, env, publish, move, store, dataDir, process, ...service } = await installation();
  const before = await publish(2);
  const aside = join(dataDir, 'aside');
  move([2, 3], store, aside);
  await service.record(service.key, 1);
  await (await process()).checkpoints.tick();
  expect(await service.rounds()).toEqual([roundName(1)]);
  // The operator gives them up. There may have been more of them, so the log begins anew.
  expect(await reopenLog(env)).toHaveLength(1);
  expect((await publish(1)).origin).not.toBe(before.origin);
  const since = join(dataDir, 'since');
  move([2, 3], store, since);
  move([2, 3], aside, store);
  await (await process()).checkpoints.tick();
  expect(await service.halted()).toContain('are not those of round 3');
  await reopenLog(env);
  await publish(1);
  await service.intact(id, since);
});

test('a backup that is newer than the store may be older than what was published: its logs begin anew', async () => {
  const { id, env, publish, move, store, dataDir, backups, ...service } = await installation();
  await publish(2);
  const backup = await backups.take();
  const before = await publish(2);
  const aside = join(dataDir, 'aside');
  move([3, 4, 5], store, aside);
  await backups.restore(backup);
  expect(await reopenLog(env)).toHaveLength(1);
  expect((await publish(1, await service.process())).origin).not.toBe(before.origin);
  await service.intact(id, aside);
});

test('rounds of a copy with the same key are not gone past, and its logs are others', async () => {
  const { id, env, publish, store, dataDir, backups, ...service } = await installation();
  // The copy: the database as it is now, in an empty store, begun as the handbook says.
  const copy = join(dataDir, 'copy');
  const its = { ...env, OBJECT_STORE_URL: pathToFileURL(copy).href };
  const now = await backups.take();
  expect(await reopenLog(its, { newStore: true })).toHaveLength(1);
  const ofCopy = await service.process(its);
  await ofCopy.checkpoints.tick();
  const { origin } = await publish(2, ofCopy);
  await backups.restore(now);
  const own = await publish(1, await service.process());
  expect(own.origin).not.toBe(origin);
  cpSync(join(copy, roundName(3)), join(store, roundName(3)));
  await service.record(service.key, 1);
  await service.tick();
  expect(await service.halted()).toContain('another installation with the same signing key');
  rmSync(join(store, roundName(3)));
  expect(await reopenLog(env)).toHaveLength(1);
  expect(new Set([own.origin, origin, (await publish(1)).origin]).size).toBe(3);
  await service.intact(id, copy);
});

test('a store that was moved, and says so, is refused with whatever backup', async () => {
  const { env, publish, store, dataDir, backup, backups } = await installation();
  await publish(1);
  const moved = join(dataDir, 'moved');
  cpSync(store, moved, { recursive: true });
  writeFileSync(join(store, 'installation.json'), '{"movedTo":"the folder moved"}\n');
  await backups.restore(backup);
  await expect(reopenLog(env)).rejects.toThrow('the store was moved');
  await expect(startService({ ...env, PORT: '0' })).rejects.toThrow('the store was moved');
  expect(await reopenLog({ ...env, OBJECT_STORE_URL: pathToFileURL(moved).href })).toHaveLength(1);
});
