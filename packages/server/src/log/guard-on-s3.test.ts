import { afterAll, expect, test } from 'vitest';
import { openObjectStore } from '../objects/open-store.ts';
import { Backups } from '../testing/backup.ts';
import { checkpointOf } from '../testing/checkpoints.ts';
import { startS3Server } from '../testing/s3-server.ts';
import { callOn, eventOf, testService } from '../testing/service.ts';

/* The guard against a rewound database, in short, with an object store that is not a folder. */

const cleanup: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const undo of cleanup.reverse()) await undo();
});

async function installation(conditional = true) {
  const s3 = await startS3Server({ conditional });
  const url = await s3.newUrl();
  const service = await testService({ OBJECT_STORE_URL: url });
  const backups = new Backups(service);
  cleanup.push(
    () => s3.close(),
    () => service.close(),
    () => backups.drop(),
  );
  const tick = () => service.app.checkpoints.tick();
  const metric = async (name: string) => {
    const { text } = await service.call({ url: '/metrics', key: null });
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };
  const record = async (key: string) => {
    const post = { method: 'POST', url: '/api/audit-logs', key, body: eventOf() } as const;
    return (await callOn(service.app, post)).status;
  };
  return { s3, service, backups, objects: openObjectStore(url), tick, metric, record };
}

test('a database that was rewound meets what it published on S3, and recording stops', async () => {
  const { service, backups, objects, tick, metric, record } = await installation();
  const { key } = await service.tenant();
  await record(key);
  await tick();
  const backup = await backups.take();
  await record(key);
  await tick();
  const rounds = await objects.list('checkpoints');
  expect(rounds).toEqual(['checkpoints/000000000001.json', 'checkpoints/000000000002.json']);
  const { note } = await checkpointOf(service.app, key);
  const published = JSON.parse(String(await objects.get(rounds[1] ?? '')));
  expect(published.notes).toContain(note);
  await backups.restore(backup);
  await tick();
  expect(await metric('indelible_log_halted')).toBe(1);
  expect(await record(key)).toBe(503);
  expect(await objects.list('checkpoints')).toEqual(rounds);
});

test('a round whose answer from S3 was lost is released, and is no sign of a rewound database', async () => {
  const { s3, service, tick, metric, record } = await installation();
  const { key } = await service.tenant();
  await tick();
  await record(key);
  let lost = 0;
  s3.fault((request) =>
    /^PUT .*\/checkpoints\//.test(request) && lost++ === 0 ? 'lost' : undefined,
  );
  await tick();
  expect(lost).toBeGreaterThan(1);
  expect((await checkpointOf(service.app, key)).size).toBe(3);
  // Lost for good: nothing is released, and the next round finds an object that agrees.
  await record(key);
  s3.fault((request) => (/^PUT .*\/checkpoints\//.test(request) ? 'lost' : undefined));
  await tick();
  expect(await metric('indelible_checkpoint_failures_total')).toBe(1);
  expect((await checkpointOf(service.app, key)).size).toBe(3);
  s3.fault(null);
  await tick();
  expect((await checkpointOf(service.app, key)).size).toBe(4);
  expect(await metric('indelible_log_halted')).toBe(0);
});

test('on a store that would overwrite rounds nothing is ever signed; recording goes on', async () => {
  const { service, objects, tick, metric, record } = await installation(false);
  const { key } = await service.tenant();
  expect(await record(key)).toBe(201);
  await tick();
  expect(await metric('indelible_checkpoint_failures_total')).toBe(1);
  expect(await objects.list('checkpoints')).toEqual([]);
  const { status } = await service.call({ url: '/api/audit-logs/checkpoint', key });
  expect(status).not.toBe(200);
  expect(await record(key)).toBe(201);
});
