import { checkpointOf } from '@indelible/testing/checkpoints';
import { objectOf } from '@indelible/testing/object-of';
import { rewindable } from '@indelible/testing/rewindable';
import { startS3Server } from '@indelible/testing/s3-server';
import { expect, test } from 'vitest';

/* The guard against a rewound database, in short, with an object store that is not a folder. */

async function installation(conditional = true) {
  const s3 = await startS3Server({ conditional });
  const service = await rewindable({ OBJECT_STORE_URL: await s3.newUrl() });
  return { ...service, s3, record: async (key: string) => (await service.post(key)).status };
}

test('a database that was rewound meets what it published on S3, and recording stops', async () => {
  const { app, backups, objects, tick, metric, record, ...service } = await installation();
  const { key } = await service.tenant();
  await record(key);
  await tick();
  const backup = await backups.take();
  await record(key);
  await tick();
  const rounds = await objects.list('checkpoints');
  expect(rounds).toEqual(['checkpoints/000000000001.json', 'checkpoints/000000000002.json']);
  const { note } = await checkpointOf(app, key);
  const published = JSON.parse(String(await objectOf(objects, rounds[1] ?? '')));
  expect(published.notes).toContain(note);
  await backups.restore(backup);
  await tick();
  expect(await metric('indelible_log_halted')).toBe(1);
  expect(await record(key)).toBe(503);
  expect(await objects.list('checkpoints')).toEqual(rounds);
});

test('a round whose answer from S3 was lost is released, and is no sign of a rewound database', async () => {
  const { app, s3, tick, metric, record, ...service } = await installation();
  const { key } = await service.tenant();
  await tick();
  await record(key);
  let lost = 0;
  s3.fault((request) =>
    /^PUT .*\/checkpoints\//.test(request) && lost++ === 0 ? 'lost' : undefined,
  );
  await tick();
  expect(lost).toBeGreaterThan(1);
  expect((await checkpointOf(app, key)).size).toBe(3);
  // Lost for good: nothing is released, and the next round finds an object that agrees.
  await record(key);
  s3.fault((request) => (/^PUT .*\/checkpoints\//.test(request) ? 'lost' : undefined));
  await tick();
  expect(await metric('indelible_checkpoint_failures_total')).toBe(1);
  expect((await checkpointOf(app, key)).size).toBe(3);
  s3.fault(null);
  await tick();
  expect((await checkpointOf(app, key)).size).toBe(4);
  expect(await metric('indelible_log_halted')).toBe(0);
});

test('on a store that would overwrite rounds nothing is ever signed; recording goes on', async () => {
  const { objects, tick, metric, record, ...service } = await installation(false);
  const { key } = await service.tenant();
  expect(await record(key)).toBe(201);
  await tick();
  expect(await metric('indelible_checkpoint_failures_total')).toBe(1);
  expect(await objects.list('checkpoints')).toEqual([]);
  const { status } = await service.call({ url: '/api/audit-logs/checkpoint', key });
  expect(status).not.toBe(200);
  expect(await record(key)).toBe(201);
});
