import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  type ArchiveChanges,
  archiveNow,
  archiveOf,
  configOf,
  envOf,
  expectWhole,
} from '@indelible/testing/archived';
import { Backups } from '@indelible/testing/backup';
import { checkpointOf } from '@indelible/testing/checkpoints';
import { recordMany } from '@indelible/testing/event-pool';
import { objectOf } from '@indelible/testing/object-of';
import { startS3Server } from '@indelible/testing/s3-server';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import type { ObjectStore } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { reopenLog } from '../operations/reopen.command.ts';
import { parseArchiveName } from './layout.ts';
import { openArchive } from './open-archive.ts';

const service = await testService();
const s3 = await startS3Server();

const objects = openObjectStore(configOf(service).objectStoreUrl);

async function tenantWith(count: number) {
  const tenant = await service.tenant();
  await recordMany(service, tenant.key, count);
  return tenant;
}

function overwrite(name: string) {
  const body = Readable.from([Buffer.from('something else')]);
  return objects.putStream(name, body);
}

const broken = new Error('the store is away');

/**
 * The real store, which fails once, at the n-th object it should write; `persisted`: after it has.
 */
function failingAt(n: number, persisted: boolean): ObjectStore {
  let calls = 0;
  return {
    ...objects,
    async putIfAbsent(name, body) {
      calls += 1;
      if (calls !== n) return objects.putIfAbsent(name, body);
      if (persisted) await objects.putIfAbsent(name, body);
      throw broken;
    },
  };
}

test.each([1, 2, 3])(
  'the rest of a run that ended at object %i is not in the way when the log has grown',
  async (n) => {
    const { id, key } = await tenantWith(5);
    await archiveOf(service, id, { objects: failingAt(n, true) });
    await recordMany(service, key, 4);
    const next = await archiveOf(service, id);
    expect(next.problem).toBe(null);
    await expectWhole(service, { id, key }, n === 3 ? 2 : 1);
  },
);

/** Fails the transaction of the bookmark, before or after it is committed. */
function failingBookmark(persisted: boolean): ArchiveChanges {
  let records = 0;
  const owner: ArchiveChanges['owner'] = (transaction) => async (work) => {
    const before = records;
    const result = await transaction(async (tx) => {
      const done = await work({
        ...tx,
        query: (...args: unknown[]) => {
          const [query] = args as [string | { text: string }];
          const text = typeof query === 'string' ? query : query.text;
          if (text.includes('INSERT INTO archive_segments')) records += 1;
          return Reflect.apply(tx.query, tx, args);
        },
      } as typeof tx);
      if (records > before && !persisted) throw broken;
      return done;
    });
    if (records > before) throw broken;
    return result;
  };
  return { owner };
}

test.each([false, true])(
  'after a bookmark that failed (persisted: %s) the next run goes on behind the part',
  async (persisted) => {
    const { id, key } = await tenantWith(5);
    const failed = await archiveOf(service, id, failingBookmark(persisted));
    expect(failed).toMatchObject({ problem: broken.message, parts: [] });
    const next = await archiveOf(service, id);
    expect(next).toMatchObject({ problem: null, size: 7 });
    expect(next.parts).toHaveLength(persisted ? 0 : 1);
    await expectWhole(service, { id, key }, 1);
  },
);

test.each([2, 3])(
  'objects before object %i are made again, if a former release wrote other bytes',
  async (n) => {
    const { id, key } = await tenantWith(5);
    await archiveOf(service, id, { objects: failingAt(n, false) });
    const left = await objects.list(`archive/tenant=${id}`);
    expect(left).toHaveLength(n - 1);
    for (const name of left) await overwrite(name);
    expect(await archiveOf(service, id)).toMatchObject({ problem: null, size: 7 });
    await expectWhole(service, { id, key }, 1);
  },
);

/** The real store, to which another service writes the archive of this tenant too. */
function contested(tenantId: string): ObjectStore {
  return {
    ...objects,
    async putIfAbsent(name, body) {
      if (name.includes(tenantId)) await overwrite(name);
      return objects.putIfAbsent(name, body);
    },
  };
}

test('an object of the same name with other content is never overwritten, and the run says so', async () => {
  const { id } = await tenantWith(5);
  const stopped = await archiveOf(service, id, { objects: contested(id) });
  const [name = ''] = await objects.list(`archive/tenant=${id}`);
  expect(stopped.problem).toContain(
    `${name} already exists in the object store with other content`,
  );
  expect(Buffer.from((await objectOf(objects, name)) ?? []).toString()).toBe('something else');
});

test('a connection that is lost while the tree is read ends the run, and not the process', async () => {
  const { id, key } = await tenantWith(7);
  const unhandled: unknown[] = [];
  const listen = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', listen);
  let reads = 0;
  const isLost = (query: unknown) => {
    const isQuery = typeof query === 'object' && query !== null && 'text' in query;
    if (isQuery && String(query.text).includes('FROM log_tiles t')) reads += 1;
    return reads > 1; // the first one looks whether the log is what was signed
  };
  const owner: ArchiveChanges['owner'] = (transaction) => (work) =>
    transaction((tx) => {
      const send = tx.query.bind(tx) as (...query: unknown[]) => Promise<unknown>;
      const query = async (...query: unknown[]) => {
        if (isLost(query[0])) throw new Error('the connection is lost');
        return send(...query);
      };
      return work(
        new Proxy(tx, { get: (all, name) => (name === 'query' ? query : Reflect.get(all, name)) }),
      );
    });
  const limits = { entries: 3, characters: 1e6 };
  const { problem } = await archiveOf(service, id, { owner, limits });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', listen);
  expect([problem, unhandled]).toEqual(['the connection is lost', []]);
  await archiveOf(service, id);
  await expectWhole(service, { id, key }, 1);
});

test('one tenant that cannot be archived keeps no other from it', async () => {
  const [one, other] = [await tenantWith(2), await tenantWith(2)];
  const run = await archiveNow(service, { objects: contested(one.id) });
  const outcomes = new Map(run.map(({ tenantId, problem }) => [tenantId, problem]));
  expect(outcomes.get(one.id)).toContain('with other content');
  expect(outcomes.get(other.id)).toBe(null);
});

test('the run names the entry of a log that cannot be read', async () => {
  const { id } = await tenantWith(300);
  await service.app.checkpoints.tick();
  const damage = 'UPDATE log_tiles SET data = set_byte(data, 60, 9) WHERE tenant_id = $1';
  await service.owner.query(damage, [id]);
  for (const changes of [{}, { threadFrom: 1 }])
    expect((await archiveOf(service, id, changes)).problem).toContain(
      'the bytes of entry 1 of a log are no entry',
    );
});

test('a damaged file of a part that is being taken up stops the archive of its tenant', async () => {
  const { id } = await tenantWith(2);
  await archiveOf(service, id, failingBookmark(false));
  const names = await objects.list(`archive/tenant=${id}`);
  await overwrite(names.find((name) => name.includes('identity')) ?? '');
  expect((await archiveOf(service, id)).problem).toContain('the archive is damaged');
});

test('a manifest longer than any, and a second one of a part, stop the archive of their tenant', async () => {
  const { id } = await tenantWith(2);
  await archiveOf(service, id, failingBookmark(false));
  const names = await objects.list(`archive/tenant=${id}`);
  const name = names.find((each) => each.endsWith('.json')) ?? '';
  const path = join(service.dataDir, 'objects', name);
  const manifest = readFileSync(path);
  truncateSync(path, 17 * 2 ** 20);
  expect((await archiveOf(service, id)).problem).toContain('.json is too long');
  writeFileSync(path, manifest);
  writeFileSync(path.replace(/\d.json$/, '9.json'), manifest);
  expect((await archiveOf(service, id)).problem).toContain('2 manifests begin where that of');
});

test('over S3, whose answers are lost, nothing is archived twice and nothing is left out', async () => {
  const { id } = await tenantWith(5);
  const url = await s3.newUrl();
  for (const file of ['0006.parquet', 'identity.parquet', '0006.json']) {
    s3.fault((request) => {
      return request.startsWith('PUT') && request.includes(file) ? 'lost' : undefined;
    });
    await archiveOf(service, id, {}, url);
  }
  s3.fault(null);
  expect(await archiveOf(service, id, {}, url)).toMatchObject({ problem: null, size: 7 });
  const store = openObjectStore(url);
  expect(await store.list('archive')).toHaveLength(3);
  const archive = await openArchive(url.replace('?', '/archive?'));
  const [part] = archive.tenants.get(id) ?? [];
  expect(part).toMatchObject({ first: 0, last: 6 });
  await archive.close();
});

test('a run on a database from before the archive takes up what is archived, if it is the same log', async () => {
  const own = await testService();
  const backups = new Backups(own);
  try {
    const { id, key } = await own.tenant();
    await recordMany(own, key, 2);
    await own.app.checkpoints.tick();
    const before = await backups.take();
    await archiveOf(own, id);
    await backups.restore(before);
    await own.app.checkpoints.tick(); // finds its connections ended
    const again = await archiveOf(own, id);
    expect(again).toMatchObject({ problem: null, size: 4, parts: [{ first: 0, last: 3 }] });
    const after = await backups.take();
    await recordMany(own, key, 3);
    await archiveOf(own, id);
    await backups.restore(after);
    await reopenLog({ ...envOf(own) });
    await own.app.checkpoints.tick();
    await checkpointOf(own.app, key);
    const { problem, parts } = await archiveOf(own, id);
    expect(parts).toEqual([]);
    expect(problem).toContain('does not match the log');
    // As the sentence says.
    const objects = openObjectStore(configOf(own).objectStoreUrl);
    const foreign = /files named from (\d+) on/.exec(problem ?? '')?.[1] ?? '';
    for (const name of await objects.list(`archive/tenant=${id}`)) {
      if ((parseArchiveName(name)?.first ?? -1) >= Number(foreign)) await objects.remove(name);
    }
    expect(await archiveOf(own, id)).toMatchObject({ problem: null, parts: [{ first: 4 }] });
    expect((await archiveOf(own, id)).parts).toEqual([]);
  } finally {
    await own.close();
    await backups.drop();
  }
});

test('entries that a restored log lost are not archived beside it, also where they are of other months', async () => {
  const own = await testService();
  const backups = new Backups(own);
  const month = 32 * 86_400_000;
  try {
    const { id, key } = await own.tenant();
    await recordMany(own, key, 2);
    await own.app.checkpoints.tick();
    const before = await backups.take();
    own.clock.now += month;
    await recordMany(own, key, 2);
    expect((await archiveOf(own, id)).parts).toMatchObject([{ first: 0 }, { first: 4 }]);
    own.clock.now += month;
    await recordMany(own, key, 2);
    await archiveOf(own, id);
    await backups.restore(before);
    own.clock.now += month;
    await reopenLog({ ...envOf(own) });
    await own.app.checkpoints.tick();
    await recordMany(own, key, 2);
    expect(await archiveOf(own, id)).toMatchObject({
      problem: expect.stringContaining('from sequence 4 on, does not match the log'),
      parts: [{ first: 0, last: 3 }],
    });
    // If only that month's files are moved, the next run names the next month's.
    const objects = openObjectStore(configOf(own).objectStoreUrl);
    for (const name of await objects.list(`archive/tenant=${id}`))
      if (parseArchiveName(name)?.first === 4) await objects.remove(name);
    expect(await archiveOf(own, id)).toMatchObject({
      problem: expect.stringMatching(/from sequence 6 on, .*the folders of all months/),
      parts: [],
    });
  } finally {
    await own.close();
    await backups.drop();
  }
});
