import { checkpointOf } from '@indelible/testing/checkpoints';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, test } from 'vitest';
import type { ObjectStore } from '../objects/object-store.ts';
import { reopenLog } from '../operations/reopen.command.ts';

/* A reopening that is cut off, or undone by a restore: no origin is ever signed in two futures. */

/** A tenant with 12 published entries, and a backup of its first 5. */
async function rewound() {
  const service = await rewindable();
  const { app, backups, call } = service;
  const { id, key } = await service.tenant();
  const record = async (count: number) => {
    await service.record(key, count);
    await service.tick();
    return checkpointOf(app, key);
  };
  await record(3);
  const backup = await backups.take();
  const lost = await record(7);
  expect(lost.size).toBe(12);
  await backups.restore(backup);
  /** The notes that the newest record of a reopening names, newest origin first. */
  const recorded = async () => {
    const url = `/api/audit-logs?action=reopen&resource_id=${id}&include=state`;
    const { body } = await call({ url, key });
    const { lastPublishedCheckpoint, earlierCheckpoints = [] } = body.data[0].after;
    return [lastPublishedCheckpoint, ...earlierCheckpoints];
  };
  const finish = async () => {
    await service.intact(id);
    expect((await call({ url: '/readyz', key: null })).status).toBe(200);
  };
  return { ...service, id, backup, lost, record, recorded, finish };
}

/** Writes the object, and is never heard of again. */
const killedAfterPut = (objects: ObjectStore): ObjectStore => ({
  ...objects,
  async putIfAbsent(name, body) {
    await objects.putIfAbsent(name, body);
    throw new Error('killed');
  },
});

test('a reopening that is killed when its round appears is done again under a further origin', async () => {
  const { id, env, objects, lost, record, recorded, finish } = await rewound();
  await expect(reopenLog(env, { objects: killedAfterPut(objects) })).rejects.toThrow('killed');
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 5, publishedSize: 12 }]);
  const next = await record(1);
  expect(next.size).toBe(7);
  expect(next.origin).not.toBe(lost.origin);
  expect(await recorded()).toEqual([lost.note]);
  await finish();
});

test('after a killed reopening recording stays stopped until it is done again', async () => {
  const { env, objects, app, finish, record } = await rewound();
  await expect(reopenLog(env, { objects: killedAfterPut(objects) })).rejects.toThrow('killed');
  await app.checkpoints.tick();
  await expect(app.checkpoints.onDemand()).rejects.toThrow('recording is stopped');
  expect(await reopenLog(env)).toHaveLength(1);
  await record(2);
  await finish();
});

test('the same backup restored and reopened twice goes on under a third origin', async () => {
  const { id, env, backups, backup, lost, record, recorded, finish } = await rewound();
  expect(await reopenLog(env)).toHaveLength(1);
  await backups.restore(backup);
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 5, publishedSize: 12 }]);
  const next = await record(1);
  expect(next.origin).not.toBe(lost.origin);
  expect(await recorded()).toEqual([lost.note]);
  await finish();
});

test('a backup from before a reopening, restored after it served, goes on under a third origin', async () => {
  const { id, env, backups, backup, lost, record, recorded, finish } = await rewound();
  expect(await reopenLog(env)).toHaveLength(1);
  const second = await record(4);
  expect(second.size).toBe(10);
  await backups.restore(backup);
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 5, publishedSize: 10 }]);
  const third = await record(1);
  expect(third.size).toBe(7);
  expect(new Set([lost.origin, second.origin, third.origin]).size).toBe(3);
  // A tenant who saw either of the two is told of it.
  expect(await recorded()).toEqual([second.note, lost.note]);
  await finish();
});
