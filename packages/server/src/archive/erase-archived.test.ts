import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createFrontier,
  emptyLogState,
  formatBase64,
  leafHash,
  uuidFromEventId,
} from '@indelible/protocol';
import { archiveOf, configOf, envOf } from '@indelible/testing/archived';
import { recordAll } from '@indelible/testing/event-pool';
import { partFiles, rowsBelow } from '@indelible/testing/parquet';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { entryOf } from './archived-row.ts';
import { restoreArchive } from './command.ts';
import { type ArchiveErasure, eraseArchived } from './erase-archived.ts';
import { parseManifest } from './manifest.ts';
import { openArchive } from './open-archive.ts';

const service = await testService();

const objects = openObjectStore(configOf(service).objectStoreUrl);
const tmpDir = join(service.dataDir, 'tmp');
await mkdir(tmpDir, { recursive: true });
const person = '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a';
const colleague = '11111111-2222-4333-8444-555555555555';

const actor = (id: string, role = 'admin') => ({
  id,
  email: `${id.slice(0, 4)}@example.com`,
  role,
  ip: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
});

/** A tenant whose archive has two parts with events of two people and an operator. */
async function archived() {
  const tenant = await service.tenant();
  await recordAll(service, tenant.key, [
    eventOf({ actor: actor(person), before: { n: 1 }, after: { n: 2 }, diff: {} }),
    eventOf({ actor: actor(colleague) }),
    eventOf({ actor: actor(person, 'superadmin'), reason: 'ticket 1' }),
    eventOf({ actor: actor(person) }),
  ]);
  await archiveOf(service, tenant.id, { limits: { entries: 3, characters: 1e6 } });
  const erasure: ArchiveErasure = {
    tenantId: tenant.id,
    segment: 'identity',
    actors: [person],
    events: [],
    size: 6,
  };
  return { ...tenant, erasure };
}

const filesOf = (id: string) =>
  readdirSync(join(service.dataDir, 'objects/archive', `tenant=${id}`), {
    recursive: true,
    encoding: 'utf8',
  })
    .filter((name) => /\.(parquet|json)$/.test(name))
    .map((name) => name.slice(name.lastIndexOf('/') + 1))
    .sort();

const archivedRows = (id: string, kind: keyof typeof partFiles) =>
  rowsBelow(`${service.dataDir}/objects/archive/tenant=${id}`, partFiles[kind]);

const emails = async (id: string) =>
  (await archivedRows(id, 'identity')).map(({ actor_email }) => actor_email).slice(2);

const colleagueEmail = '1111@example.com';
const operatorEmail = '7f9c@example.com';

/** The erased archive still gives the roots that were signed, or it would not be restored. */
async function expectRestorable(id: string, events: number): Promise<void> {
  const fresh = await testService();
  try {
    const root = join(service.dataDir, 'objects/archive');
    await restoreArchive(envOf(fresh), root, { tenantId: id });
    const told = await fresh.owner.query(
      `SELECT "after"->>'size' AS size FROM audit_events WHERE action = 'erase' AND recorded_by_kind = 'service'`,
    );
    expect(told.rows, 'the record lay behind the end of the archive').toEqual([{ size: '6' }]);
    const { rows } = await fresh.owner.query(
      'SELECT count(*)::int AS count FROM audit_events WHERE erased IS NOT NULL',
    );
    expect(rows).toEqual([{ count: events }]);
  } finally {
    await fresh.close();
  }
}

/** The files are those that the manifests name, and their rows give the roots. */
async function expectSameRoots(id: string, segments = ['identity']): Promise<void> {
  const archive = await openArchive(join(service.dataDir, 'objects/archive', `tenant=${id}`));
  const tree = createFrontier(emptyLogState, sha);
  for (const part of archive.tenants.get(id) ?? []) {
    const manifest = parseManifest((await archive.manifest(part)) ?? new Uint8Array());
    for (const file of [manifest.files.events, manifest.files.identity]) {
      expect(await archive.check(part, file)).toBe('intact');
    }
    for await (const rows of archive.read({ part, manifest })) {
      for (const row of rows) tree.append(leafHash(sha, entryOf(sha, row)));
    }
    expect(formatBase64(tree.root())).toBe(manifest.root);
    const named = manifest.erasures?.map(({ segment, size }) => [segment, size]) ?? [];
    expect(named).toEqual(segments.map((segment) => [segment, 6]));
  }
  await archive.close();
}

test('an identity leaves the file of identities alone, and the archive still gives the same log', async () => {
  const { id, erasure } = await archived();
  expect(await emails(id)).toEqual([operatorEmail, colleagueEmail, operatorEmail, operatorEmail]);
  expect(await eraseArchived({ sha, objects, tmpDir }, erasure)).toBe(2);
  expect(await emails(id)).toEqual([null, colleagueEmail, operatorEmail, null]);
  expect(filesOf(id)).toEqual([
    '000000000000-000000000002-r2-identity.parquet',
    '000000000000-000000000002.parquet',
    '000000000003-000000000005-r2-identity.parquet',
    '000000000003-000000000005.parquet',
    '_000000000000-000000000002.json',
    '_000000000003-000000000005.json',
  ]);
  expect(await eraseArchived({ sha, objects, tmpDir }, erasure)).toBe(0);
  await expectRestorable(id, 2);
});

test('a leaked state leaves the file of events, and nothing else of the event does', async () => {
  const { id, erasure } = await archived();
  const row = (await archivedRows(id, 'events')).find(({ before }) => before !== null);
  expect(row?.before).toBe('{"n":1}');
  const events = [uuidFromEventId(String(row?.id)) ?? ''];
  const named: ArchiveErasure = { ...erasure, segment: 'state', actors: [], events };
  expect(await eraseArchived({ sha, objects, tmpDir }, named)).toBe(1);
  const left = (await archivedRows(id, 'events')).filter((each) => each.id === row?.id);
  expect(left).toMatchObject([
    { action: 'update', before: null, after: null, salt_state: null, hash_state: { length: 32 } },
  ]);
  expect(await emails(id)).toContain(operatorEmail);
  await expectRestorable(id, 1);
});

test('the salt of an event follows from that of its change, and is kept when that one is erased', async () => {
  const { id, erasure } = await archived();
  const lengthOf = (salt: unknown) => (salt instanceof Uint8Array ? salt.length : null);
  const salts = async () => {
    const rows = await archivedRows(id, 'events');
    return new Set(rows.map((row) => `${lengthOf(row.salt_change)}, ${lengthOf(row.salt_event)}`));
  };
  expect(await salts()).toEqual(new Set(['16, null']));
  await eraseArchived({ sha, objects, tmpDir }, { ...erasure, segment: 'change' });
  expect(await salts()).toEqual(new Set(['16, null', 'null, 16']));
  await expectSameRoots(id, ['change']);
});

test('an archive that lacks what nothing says to be erased is not restored', async () => {
  const { id, erasure } = await archived();
  await eraseArchived({ sha, objects, tmpDir }, erasure);
  const folder = join(service.dataDir, 'objects/archive', `tenant=${id}`);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.json')) continue;
    const path = join(folder, name);
    const { erasures, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
    expect(erasures).toMatchObject([{ segment: 'identity', actors: [person], size: 6 }]);
    writeFileSync(path, JSON.stringify(manifest));
  }
  const fresh = await testService();
  try {
    await expect(restoreArchive(envOf(fresh), folder, { tenantId: id })).rejects.toThrow(
      '2 events of the archive lack their identity, and no record says that it was erased',
    );
  } finally {
    await fresh.close();
  }
});

const broken = new Error('the store is away');

/** The real store, of which the n-th change fails once; `persisted`: after it was made. */
function failingAt(n: number, persisted: boolean): ObjectStore {
  let calls = 0;
  const faulty =
    <A extends unknown[], T>(work: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      calls += 1;
      if (calls !== n) return work(...args);
      if (persisted) await work(...args);
      throw broken;
    };
  return {
    ...objects,
    putIfAbsent: faulty(objects.putIfAbsent),
    putStream: faulty(objects.putStream),
    remove: faulty(objects.remove),
  };
}

const steps = [1, 2, 3].flatMap((n) => [false, true].map((persisted) => ({ n, persisted })));

test.each(steps)(
  'cut off at change $n (made: $persisted), the same call finishes it',
  async (step) => {
    const { id, erasure } = await archived();
    const store = failingAt(step.n, step.persisted);
    await expect(eraseArchived({ sha, objects: store, tmpDir }, erasure)).rejects.toThrow(broken);
    await eraseArchived({ sha, objects, tmpDir }, erasure);
    expect(await emails(id)).toEqual([null, colleagueEmail, operatorEmail, null]);
    expect(filesOf(id)).toHaveLength(6);
    await expectSameRoots(id);
  },
);

test('an erasure removes the rest of an interrupted run from the archive', async () => {
  const { id, key, erasure } = await archived();
  await recordAll(service, key, [eventOf({ actor: actor(person) })]);
  await archiveOf(service, id, { objects: failingAt(3, false) });
  expect(filesOf(id).length).toBe(8);
  await eraseArchived({ sha, objects, tmpDir }, erasure);
  expect(filesOf(id)).toHaveLength(6);
});
