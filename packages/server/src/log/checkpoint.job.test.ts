import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkpointOf, publishedRounds } from '@indelible/testing/checkpoints';
import { expectLogIntact, rootStored } from '@indelible/testing/intact';
import { PostgresProxy } from '@indelible/testing/postgres-proxy';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../app.ts';
import { openSigner } from '../crypto/signer.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { write } from '../postgres/db.ts';
import { type CheckpointDeps, CheckpointJob } from './checkpoint.job.ts';
import { holdRounds } from './checkpoint.store.ts';

const service = await rewindable();
const { app, owner, dataDir, metric, process, record } = service;
const tick = (on: App = app) => on.checkpoints.tick();
const rounds = () => publishedRounds(dataDir);

async function releasedRound(): Promise<number> {
  const { rows } = await owner.query('SELECT round::int FROM log_rounds');
  return rows[0].round;
}

/** The folder of the objects is away while `work` runs. */
async function withoutStore(work: () => Promise<void>): Promise<void> {
  const folder = join(dataDir, 'objects');
  renameSync(folder, `${folder}.away`);
  writeFileSync(folder, 'where the folder was');
  await work().finally(() => renameSync(`${folder}.away`, `${folder}.back`));
  renameSync(folder, `${folder}.gone`);
  renameSync(`${folder}.back`, folder);
}

test('a round signs every log that has grown, and what it signs is what is stored', async () => {
  const tenants = [await service.tenant(), await service.tenant('Starter')];
  await record(tenants[0]?.key ?? '', 300);
  const before = rounds().length;
  await tick();
  expect(rounds()).toHaveLength(before + 1);
  const notes = rounds().at(-1)?.notes ?? [];
  for (const { id, key } of tenants) {
    const { origin, size, root, note } = await checkpointOf(app, key);
    expect(notes).toContain(note);
    const { rows } = await owner.query(
      `SELECT 'localhost/l/' || replace(log_id::text, '-', '') AS origin, size::int FROM log_heads
       WHERE tenant_id = $1`,
      [id],
    );
    expect({ origin, size }).toEqual(rows[0]);
    expect(root).toEqual(await rootStored(service, id));
    await expectLogIntact(service, id);
  }
  expect(await metric('indelible_checkpoints_total')).toBeGreaterThanOrEqual(notes.length);
});

test('three processes sign one round an interval, and two go on when the one that signs is gone', async () => {
  const { key } = await service.tenant();
  const all = [await process(), await process(), await process()];
  for (const each of all) await tick(each);
  const signedIn = async (interval: readonly App[]) => {
    const before = rounds().length;
    for (const each of interval) {
      await record(key);
      await each.checkpoints.tickUnlessSigned();
    }
    return rounds().length - before;
  };
  expect([await signedIn(all), await signedIn(all), await signedIn(all)]).toEqual([1, 1, 1]);
  const [, ...left] = all;
  expect([await signedIn(left), await signedIn(left), await signedIn(left)]).toEqual([1, 1, 1]);
  // Its own rounds on demand do not put it off: what is recorded after them waits no longer.
  const alone = left.slice(0, 1);
  await signedIn(alone);
  await alone[0]?.checkpoints.onDemand();
  expect(await signedIn(alone)).toBe(1);
});

test('a round in which nothing has grown leaves no object', async () => {
  await tick();
  const before = rounds();
  await tick();
  expect(rounds()).toEqual(before);
  expect(await releasedRound()).toBe(before.at(-1)?.round);
});

test('while the object store is away recording goes on, signing waits, and both come back', async () => {
  const { id, key } = await service.tenant();
  const [early] = await record(key);
  await tick();
  const { note } = await checkpointOf(app, key);
  const failures = await metric('indelible_checkpoint_failures_total');
  await withoutStore(async () => {
    const [late] = await record(key);
    await tick();
    expect(await metric('indelible_checkpoint_failures_total')).toBe(failures + 1);
    expect((await checkpointOf(app, key)).note).toBe(note);
    const proof = (eventId?: string) =>
      service.call({ url: `/api/audit-logs/${eventId}/proof`, key });
    expect((await proof(early?.id)).status).toBe(200);
    const { status, body, headers } = await proof(late?.id);
    expect({ status, code: body.code }).toEqual({ status: 503, code: 'unavailable' });
    expect(body.detail).toContain('recording continues');
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect((await service.call({ url: '/readyz', key: null })).status).toBe(200);
    expect(await metric('indelible_log_halted')).toBe(0);
  });
  await tick();
  const { size, root } = await checkpointOf(app, key);
  expect(size).toBe(4);
  expect(root).toEqual(await rootStored(service, id));
  await expectLogIntact(service, id);
});

const nextObject = () => `${String(rounds().length + 1).padStart(12, '0')}.json`;

/** Links that lead nowhere: nothing can be read there, and nothing written. */
test.each([
  ['the store cannot be written to', () => 'objects/checkpoints'],
  ['somebody else takes the name meanwhile', () => `objects/checkpoints/${nextObject()}`],
])('nothing is released when %s', async (_, place) => {
  const { id, key } = await service.tenant();
  await tick();
  const [{ note, size }, released] = [await checkpointOf(app, key), await releasedRound()];
  const path = join(dataDir, place());
  if (existsSync(path)) renameSync(path, `${path}.kept`);
  symlinkSync(join(dataDir, 'nowhere/at/all'), path);
  await record(key);
  const failures = await metric('indelible_checkpoint_failures_total');
  await tick();
  expect(await metric('indelible_checkpoint_failures_total')).toBe(failures + 1);
  expect((await checkpointOf(app, key)).note).toBe(note);
  expect(await releasedRound()).toBe(released);
  rmSync(path);
  if (existsSync(`${path}.kept`)) renameSync(`${path}.kept`, path);
  await tick();
  expect((await checkpointOf(app, key)).size).toBe(size + 1);
  expect(await releasedRound()).toBe(released + 1);
  await expectLogIntact(service, id);
});

test.each([
  ['the object is written, and the process dies before it releases it', 'commit lost'],
  ['the release is stored, and its answer is lost', 'answer lost'],
] as const)('nothing is lost or signed twice otherwise when %s', async (_, fault) => {
  const proxy = new PostgresProxy(service.servingUrl);
  onTestFinished(() => proxy.close());
  const dying = await process({}, await proxy.open(service.servingUrl));
  const { id, key } = await service.tenant();
  await tick(dying); // its first round registers the key, which commits too
  await record(key, 3);
  const [before, released] = [rounds().length, await releasedRound()];
  const { size: releasedSize } = await checkpointOf(app, key);
  proxy.breakNextCommit(fault);
  await tick(dying);
  expect(proxy.broken).toBe(1);
  expect(await metric('indelible_checkpoint_failures_total', dying)).toBe(1);
  expect(rounds()).toHaveLength(before + 1);
  const isReleased = fault === 'answer lost';
  expect(await releasedRound()).toBe(released + (isReleased ? 1 : 0));
  expect((await checkpointOf(app, key)).size).toBe(releasedSize + (isReleased ? 3 : 0));
  // The log grows before anybody looks again; then another process takes over.
  await record(key, 2);
  await tick(await process());
  expect(rounds().map(({ round }) => round)).toEqual(rounds().map((_each, n) => n + 1));
  expect(await releasedRound()).toBe(rounds().length);
  const { size, root } = await checkpointOf(app, key);
  expect(size).toBe(releasedSize + 5);
  expect(root).toEqual(await rootStored(service, id));
  expect(await metric('indelible_log_halted')).toBe(0);
  await expectLogIntact(service, id);
});

test('a round whose store is exchanged just before it is written is not released', async () => {
  const { id, key } = await service.tenant();
  await tick();
  await record(key);
  const [released, before] = [await releasedRound(), rounds().length];
  const store = folderStore();
  const folder = join(dataDir, 'objects');
  const objects: ObjectStore = {
    ...store,
    async putIfAbsent(name, body) {
      renameSync(folder, `${folder}.real`);
      mkdirSync(folder);
      return store.putIfAbsent(name, body);
    },
  };
  const failures: unknown[] = [];
  await jobOn({ objects }, failures).tick();
  expect(String(failures)).toContain('the object store was exchanged during round');
  expect(await releasedRound()).toBe(released);
  rmSync(folder, { recursive: true });
  renameSync(`${folder}.real`, folder);
  await tick();
  expect(rounds()).toHaveLength(before + 1);
  expect((await checkpointOf(app, key)).size).toBe(3);
  await expectLogIntact(service, id);
});

test('an object that no round released is skipped, and what it holds is never served', async () => {
  const { id, key } = await service.tenant();
  await tick();
  const { note, origin, size, root } = await checkpointOf(app, key);
  // An attacker who can write to the store: the tree head is right, the signature is of no key.
  const round = rounds().length + 1;
  const forged = `${origin}\n${size}\n${root.toString('base64')}\n\n\u2014 ${origin} ${Buffer.alloc(68).toString('base64')}\n`;
  const body = JSON.stringify({ round, at: new Date().toISOString(), notes: [forged] });
  writeFileSync(join(dataDir, `objects/checkpoints/${String(round).padStart(12, '0')}.json`), body);
  await tick();
  expect((await checkpointOf(app, key)).note).toBe(note);
  await record(key);
  await tick();
  expect((await checkpointOf(app, key)).size).toBe(size + 1);
  expect(rounds().at(-1)?.round).toBe(round + 1);
  await expectLogIntact(service, id);
});

test('processes that run rounds at once sign each log once, without gaps and without alarm', async () => {
  const others = [await process(), await process()];
  const tenants = [await service.tenant(), await service.tenant(), await service.tenant()];
  const before = rounds().length;
  for (let turn = 0; turn < 8; turn++) {
    // One log has grown before they begin, so that each turn makes a round; two grow meanwhile.
    const grow = (n: number) => record(tenants[n]?.key ?? '', 1 + n, others[n % 2] ?? app);
    await grow(0);
    await Promise.all([tick(), ...others.map(tick), grow(1), grow(2)]);
  }
  await Promise.all([tick(), ...others.map(tick)]);
  await tick();
  const made = rounds().slice(before);
  expect(made.length).toBeGreaterThanOrEqual(8);
  expect(made.map(({ round }) => round)).toEqual(made.map((_each, n) => before + 1 + n));
  expect(await releasedRound()).toBe(before + made.length);
  // No two rounds hold the same log at the same size.
  const heads = made.flatMap(({ notes }) => notes.map((note) => note.split('\n', 2).join(' ')));
  expect(new Set(heads).size).toBe(heads.length);
  for (const [n, { id, key }] of tenants.entries()) {
    const { size, root } = await checkpointOf(others[0] ?? app, key);
    expect(size).toBe(2 + 8 * (1 + n));
    expect(root).toEqual(await rootStored(service, id));
    await expectLogIntact(service, id);
  }
  for (const each of [app, ...others]) expect(await metric('indelible_log_halted', each)).toBe(0);
});

const folderStore = () => openObjectStore(pathToFileURL(join(dataDir, 'objects')).href);

/** The rounds of a further process with a store or a clock of its own; failures go to the list. */
function jobOn(
  changes: Pick<CheckpointDeps, 'objects'> & Partial<CheckpointDeps>,
  failures: unknown[],
): CheckpointJob {
  return new CheckpointJob({
    db: service.db,
    sha: (data) => createHash('sha256').update(data).digest(),
    now: () => service.clock.now,
    signer: openSigner(join(dataDir, 'signing-key.pem'), false),
    originHost: 'localhost',
    announceKey: async () => {},
    observer: {
      published() {},
      halted() {},
      foreignObject() {},
      publishedAgain() {},
      storeLost() {},
      roundFailed: (error) => failures.push(error),
    },
    ...changes,
  });
}

/** A store that has taken a round, and says nothing before `answer`. */
function heldStore() {
  const store = folderStore();
  const [asked, answering] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const objects: ObjectStore = {
    ...store,
    async putIfAbsent(name, body) {
      asked.resolve();
      await answering.promise;
      return store.putIfAbsent(name, body);
    },
  };
  return { objects, asked: asked.promise, answer: answering.resolve };
}

test('a caller who asks for a checkpoint gets one that covers all earlier events, one a second', async () => {
  const { id, key } = await service.tenant();
  const failures: unknown[] = [];
  const job = jobOn({ objects: folderStore() }, failures);
  const ticked = performance.now();
  await job.tick();
  const before = rounds().length;
  const ask = async (callers: number) => {
    const recorded = await Promise.all(Array.from({ length: callers }, () => record(key)));
    await Promise.all(recorded.map(() => job.onDemand()));
    const { size } = await checkpointOf(app, key);
    for (const [event] of recorded)
      expect(size).toBeGreaterThan(event?.sequence ?? Number.POSITIVE_INFINITY);
  };
  await ask(12);
  expect(rounds()).toHaveLength(before + 1); // one for all of them
  await ask(1);
  // Rounds begin a second apart at least: that of the tick, that of the twelve, and this one.
  expect(performance.now() - ticked).toBeGreaterThan(1_950);
  expect(failures).toEqual([]);
  await expectLogIntact(service, id);
});

test('a round that runs already may have looked too early: who asks meanwhile gets the next one', async () => {
  const [early, late] = [await service.tenant(), await service.tenant()];
  await tick();
  // The round has read the logs; its object is written after another caller has asked and waits.
  const slow = heldStore();
  const pause = async (ms: number) => {
    if (ms > 1_000) return new Promise<void>(() => {}); // no caller is late
    slow.answer();
  };
  const failures: unknown[] = [];
  const job = jobOn({ objects: slow.objects, pause }, failures);
  await record(early.key);
  const running = job.tick();
  await slow.asked;
  await record(late.key);
  await job.onDemand();
  await running;
  expect(failures).toEqual([]);
  for (const { id, key } of [early, late]) {
    expect((await checkpointOf(app, key)).size).toBe(3);
    await expectLogIntact(service, id);
  }
});

test('a caller who asks for a checkpoint waits eight seconds at most, and the round goes on without them', async () => {
  const { id, key } = await service.tenant();
  await tick();
  const { size } = await checkpointOf(app, key);
  await record(key);
  const silent = heldStore();
  const waits: number[] = [];
  const pause = async (ms: number) => {
    waits.push(ms);
    if (ms > 1_000) await silent.asked; // these eight seconds are over when the store has been asked
  };
  const failures: unknown[] = [];
  const job = jobOn({ objects: silent.objects, pause }, failures);
  await expect(job.onDemand()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('not ready yet'),
  });
  expect(waits).toContain(8_000);
  expect((await checkpointOf(app, key)).size).toBe(size);
  silent.answer();
  await job.tick();
  expect(failures).toEqual([]);
  expect((await checkpointOf(app, key)).size).toBe(size + 1);
  await expectLogIntact(service, id);
});

test('rounds are held for as long as it takes: no limit ends the transaction that rests', async () => {
  const limit = await write(service.db, async (tx) => {
    await holdRounds(tx);
    return (await tx.query('SHOW idle_in_transaction_session_timeout')).rows;
  });
  expect(limit).toEqual([{ idle_in_transaction_session_timeout: '0' }]);
});
