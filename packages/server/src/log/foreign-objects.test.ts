import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { expectLogIntact } from '@indelible/testing/intact';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, test } from 'vitest';
import { diagnose } from '../operations/doctor.ts';
import { reopenLog } from '../operations/reopen.command.ts';
import { roundName } from './round.ts';

/* An attacker can write into the object store, and nowhere else. */

async function installation() {
  const service = await rewindable();
  const path = (round: number) => join(service.store, roundName(round));
  const record = async (key: string) => (await service.post(key)).status;
  const finding = async (check: string) =>
    (await diagnose(service.env)).find((each) => each.check === check);
  return { ...service, path, record, finding };
}

/** A round as an attacker without the key writes it: only the signatures are wrong. */
function forged(round: number, origin: string, size: number): string {
  const rubbish = Buffer.alloc(68, 7).toString('base64');
  const root = Buffer.alloc(32).toString('base64');
  const note = `${origin}\n${size}\n${root}\n\n\u2014 ${origin} ${rubbish}\n`;
  const signed = `indelible/rounds\n${round}\n${root}\n${root}\n\n\u2014 indelible/rounds ${rubbish}\n`;
  return JSON.stringify({ round, at: '2026-01-01T00:00:00.000Z', notes: [note], signed });
}

/** A forged round, a note alone, half an object, an object of null, and nothing at all. */
const junk: ((round: number, origin: string) => string)[] = [
  (round, origin) => forged(round, origin, 1_000_000),
  (round, origin) => {
    const { signed: _, ...rest } = JSON.parse(forged(round, origin, 1_000_000));
    return JSON.stringify(rest);
  },
  () => '{"round":',
  () => 'null',
  () => '',
];

test('with junk in the next places recording and signing continue, and the operator is told', async () => {
  const { app, path, metric, record, finding, tick, env, owner, ...service } = await installation();
  const { id, key } = await service.tenant();
  await tick();
  const { origin } = await checkpointOf(app, key);
  expect((await finding('object store'))?.level).toBe('ok');
  for (const [n, write] of junk.entries()) writeFileSync(path(2 + n), write(2 + n, origin));
  const next = 2 + junk.length;
  expect(await record(key)).toBe(201);
  await tick();
  expect(await metric('indelible_log_halted')).toBe(0);
  expect(await metric('indelible_foreign_objects_total')).toBe(junk.length);
  expect((await checkpointOf(app, key)).size).toBe(3);
  expect(JSON.parse(readFileSync(path(next), 'utf8')).round).toBe(next);
  const told = await finding('object store');
  expect(told).toMatchObject({ level: 'fail' });
  expect(told?.detail).toMatch(/checkpoints\/0+2\.json .*not signed.*another installation/);
  // Told once; the rounds go on behind.
  expect(await record(key)).toBe(201);
  await tick();
  expect(await metric('indelible_foreign_objects_total')).toBe(junk.length);
  expect((await checkpointOf(app, key)).size).toBe(4);
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 4, publishedSize: 4 }]);
  expect((await finding('object store'))?.level).toBe('ok');
  expect(await record(key)).toBe(201);
  await tick();
  expect((await checkpointOf(app, key)).size).toBe(6);
  await expectLogIntact({ owner }, id);
});

test('an object longer than any round is foreign and unread; one in place of the identity is none', async () => {
  const { path, metric, record, tick, finding, store, app, ...service } = await installation();
  const { key } = await service.tenant();
  await tick();
  const grow = (file: string) => {
    writeFileSync(file, '', { flag: 'a' });
    truncateSync(file, 2 ** 30);
  };
  const identity = join(store, 'installation.json');
  const own = readFileSync(identity);
  grow(identity);
  expect((await finding('object store'))?.detail).toContain('does not name an installation');
  writeFileSync(identity, own);
  grow(path(2));
  expect(await record(key)).toBe(201);
  await tick();
  expect(await metric('indelible_foreign_objects_total')).toBe(1);
  expect((await checkpointOf(app, key)).size).toBe(3);
});

test('a forged round hides no genuine one behind it, and no reopening believes it', async () => {
  const { app, backups, path, record, tick, env, metric, ...service } = await installation();
  const { id, key } = await service.tenant();
  await tick();
  const backup = await backups.take();
  const { origin } = await checkpointOf(app, key);
  writeFileSync(path(2), forged(2, origin, 1_000_000));
  await record(key);
  await tick();
  const { note } = await checkpointOf(app, key);
  await backups.restore(backup);
  await tick();
  expect(await metric('indelible_log_halted')).toBe(1);
  writeFileSync(path(4), forged(4, origin, 2_000_000));
  writeFileSync(path(999_999_999_999), 'the last number that has twelve digits');
  expect(await reopenLog(env)).toMatchObject([{ tenantId: id, size: 2, publishedSize: 3 }]);
  const reopening = await service.call({
    url: `/api/audit-logs?action=reopen&resource_id=${id}&include=state`,
    key,
  });
  expect(reopening.body.data[0].after.lastPublishedCheckpoint).toBe(note);
  expect(JSON.parse(readFileSync(path(5), 'utf8')).round).toBe(5);
  expect(await record(key)).toBe(201);
  await tick();
  expect((await checkpointOf(app, key)).size).toBe(4);
  expect(await metric('indelible_log_halted')).toBe(0);
});

test.each([
  ['gone', (path: string) => rmSync(path)],
  ['replaced', (path: string) => writeFileSync(path, 'something else')],
])('with the last round %s from the store signing waits, recording goes on', async (_, damage) => {
  const { app, path, record, tick, env, finding, metric, store, ...service } = await installation();
  const { key } = await service.tenant();
  await tick();
  await record(key);
  await tick();
  const { note } = await checkpointOf(app, key);
  const round = readFileSync(path(2));
  damage(path(2));
  // A process that has seen the round itself needs no second look; one that starts does.
  const started = await service.process();
  expect(await record(key)).toBe(201);
  const objects = readdirSync(join(store, 'checkpoints')).length;
  await started.checkpoints.tick();
  expect(readdirSync(join(store, 'checkpoints'))).toHaveLength(objects);
  expect(await metric('indelible_log_halted')).toBe(0);
  expect(await record(key)).toBe(201);
  expect((await checkpointOf(app, key)).note).toBe(note);
  expect(await finding('object store')).toMatchObject({
    level: 'fail',
    detail: expect.stringMatching(/checkpoints\/0+2\.json, the last round/),
  });
  writeFileSync(path(2), round);
  expect((await finding('object store'))?.level).toBe('ok');
  damage(path(2));
  // The operator says that nothing else will come back. It cannot be told what was lost.
  expect(await reopenLog(env)).toHaveLength(1);
  expect((await finding('object store'))?.level).toBe('ok');
  await started.checkpoints.tick();
  expect((await checkpointOf(app, key)).size).toBe(6);
});

test('genuine checkpoints that are put together anew are no round', async () => {
  const { app, path, record, tick, metric, ...service } = await installation();
  const { key } = await service.tenant();
  await tick();
  await record(key);
  await tick();
  const [first, second] = [1, 2].map((n) => JSON.parse(readFileSync(path(n), 'utf8')));
  writeFileSync(path(3), JSON.stringify({ ...first, round: 3 }));
  writeFileSync(path(4), JSON.stringify({ ...second, round: 4, notes: first.notes }));
  const signed = second.signed.replace('\n2\n', '\n5\n');
  writeFileSync(path(5), JSON.stringify({ ...second, round: 5, signed }));
  expect(await record(key)).toBe(201);
  await tick();
  expect(await metric('indelible_foreign_objects_total')).toBe(3);
  expect(await metric('indelible_log_halted')).toBe(0);
  expect((await checkpointOf(app, key)).size).toBe(4);
});
