import { hash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPlans, parseNote, rootAtSize } from '@indelible/protocol';
import { archiveNow, archiveOf, envOf } from '@indelible/testing/archived';
import { checkpointOf, vkeyOf } from '@indelible/testing/checkpoints';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import { day, recordAt, tenantOf } from '@indelible/testing/retention-setup';
import { eventOf, type TestService, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { treeNodes } from '../log/tree.store.ts';
import { readTenant } from '../postgres/db.ts';
import { restoreArchive } from './command.ts';
import { type ArchiveManifest, formatManifest, parseManifest } from './manifest.ts';

const service = await testService();
const [one, other] = [await service.tenant(), await service.tenant()];
await recordAll(service, one.key, poolEvents(600, service.clock.now, 150));
await recordAll(service, one.key, [eventOf({ before: { a: 1 }, after: { a: 'ñ 𝒳' }, diff: {} })]);
await recordAll(service, other.key, [eventOf(), eventOf()]);
await archiveNow(service, { limits: { entries: 250, characters: 1e6 } });
const archive = join(service.dataDir, 'objects/archive');

/** Everything stored of a log below a sequence, but for which partition it lies in. */
async function storedOf({ owner }: TestService, tenantId: string, size: number) {
  const { rows: events } = await owner.query(
    'SELECT * FROM audit_events WHERE tenant_id = $1 AND sequence < $2 ORDER BY sequence',
    [tenantId, size],
  );
  const { rows: tiles } = await owner.query(
    'SELECT * FROM log_tiles WHERE tenant_id = $1 AND (index + 1) * 256 <= $2 ORDER BY level, index',
    [tenantId, size],
  );
  return { events, tiles };
}

const rootOf = ({ db }: TestService, tenantId: string, size: number) => {
  const sha = (data: Uint8Array) => hash('sha256', data, 'buffer');
  return readTenant(db, tenantId, (tx) => rootAtSize(sha, treeNodes(tx, sha), size));
};

test('an archive restored into an empty service gives the same events, sequences and roots', async () => {
  const fresh = await testService();
  const restored = await restoreArchive(envOf(fresh), archive, {});
  expect(restored.missing).toEqual([]);
  expect(restored.tenants.map(({ size, events }) => [size, events]).sort()).toEqual([
    [4, 4],
    [603, 603],
  ]);
  for (const { tenantId, size, logId } of restored.tenants) {
    expect(await storedOf(fresh, tenantId, size)).toEqual(await storedOf(service, tenantId, size));
    expect(await rootOf(fresh, tenantId, size)).toEqual(await rootOf(service, tenantId, size));
    await expectLogIntact(fresh, tenantId);
    const { rows } = await fresh.owner.query('SELECT log_id FROM log_heads WHERE tenant_id = $1', [
      tenantId,
    ]);
    expect(rows).toEqual([{ log_id: logId }]);
  }
});

test('a restored log goes on under a new origin, and its first new record is the archived checkpoint', async () => {
  const fresh = await testService();
  const former = await checkpointOf(service.app, one.key);
  await restoreArchive(envOf(fresh), archive, { tenantId: one.id });
  await fresh.app.checkpoints.tick();
  const headers = { 'x-tenant-id': one.id, 'x-access-reason': 'restored' };
  const { body } = await fresh.call({ url: '/api/audit-logs?action=reopen', headers });
  expect(body.data).toHaveLength(1);
  const { body: event } = await fresh.call({ url: `/api/audit-logs/${body.data[0].id}`, headers });
  expect(event).toMatchObject({
    sequence: 603,
    diff: { entries: { from: 603, to: 603 } },
    recordedBy: { kind: 'service' },
  });
  const [origin, size] = parseNote(event.after.lastPublishedCheckpoint).text.split('\n');
  expect(size).toBe('603');
  expect(origin).toBe(former.origin);
  const next = await fresh.call({ url: '/api/audit-logs/checkpoint', headers });
  expect(next.text.split('\n')[0]).not.toBe(origin);
  // What was archived is the same log still: another archive is not begun.
  cpSync(archive, join(fresh.dataDir, 'objects/archive'), { recursive: true });
  const again = await archiveOf(fresh, one.id);
  expect(again.problem).toBe(null);
  expect(again.parts.map(({ first, last }) => [first, last]).slice(0, 3)).toEqual([
    [0, 249],
    [250, 499],
    [500, 602],
  ]);
});

test('with the object store of before, the record is the last checkpoint that was published', async () => {
  const [own, fresh] = [await testService(), await testService()];
  const tenant = await own.tenant();
  const starter = await own.tenant('Starter');
  await recordAll(own, tenant.key, [eventOf(), eventOf()]);
  await archiveNow(own);
  await recordAll(own, tenant.key, [eventOf(), eventOf(), eventOf()]);
  await own.app.checkpoints.tick();
  const published = await checkpointOf(own.app, tenant.key);
  cpSync(join(own.dataDir, 'objects'), join(fresh.dataDir, 'objects'), { recursive: true });
  await fresh.app.checkpoints.tick(); // meets its own future, and stops
  const root = join(fresh.dataDir, 'objects/archive');
  const vkeys = [await vkeyOf(own.app, published.note)];
  const { tenants, missing } = await restoreArchive(envOf(fresh), root, { vkeys });
  expect(tenants.map(({ size }) => size)).toEqual([4]);
  expect(missing.map(({ publishedSize }) => publishedSize)).toEqual([2]);
  expect(starter.id).not.toBe(tenant.id);
  const { rows } = await fresh.owner.query(
    `SELECT after->>'lastPublishedCheckpoint' AS note FROM audit_events WHERE action = 'reopen'`,
  );
  expect(rows).toEqual([{ note: published.note }]);
  await fresh.app.checkpoints.tick();
  const headers = { 'x-tenant-id': tenant.id, 'x-access-reason': 'restored' };
  const { status } = await fresh.call({ url: '/api/audit-logs/checkpoint', headers });
  expect(status).toBe(200);
});

test('nothing is restored into a service that has tenants', async () => {
  const taken = await testService();
  await taken.tenant('Starter');
  await expect(restoreArchive(envOf(taken), archive, {})).rejects.toThrow(
    'the service has tenants; an archive can only be loaded into an empty service',
  );
});

const damages: [string, (folder: string, names: string[]) => void, string][] = [
  [
    'a part that is missing',
    (folder, names) => {
      for (const name of names.filter((each) => each.includes('000000000250-'))) {
        rmSync(join(folder, name));
      }
    },
    'the archive has a gap',
  ],
  [
    'a file that is missing',
    (folder, names) => rmSync(join(folder, find(names, '-identity.parquet'))),
    'is not there',
  ],
  [
    'files of another part',
    (folder, names) => {
      const [first = '', second = ''] = names.filter((each) => each.endsWith('-identity.parquet'));
      cpSync(join(folder, second), join(folder, first));
    },
    'differs from its manifest',
  ],
  [
    'a manifest whose plan keeps less than the one that is archived',
    (folder, names) => {
      const manifest = names.filter((each) => each.endsWith('.json')).at(-1) ?? '';
      edit(join(folder, manifest), (known) => ({
        ...known,
        tenant: { ...known.tenant, plan: 'Starter' },
      }));
    },
    'names the plan Starter',
  ],
];

function edit(path: string, changed: (manifest: ArchiveManifest) => ArchiveManifest) {
  writeFileSync(path, formatManifest(changed(parseManifest(readFileSync(path)))));
}

const find = (names: string[], end: string) => names.find((name) => name.endsWith(end)) ?? '';

test('a manifest, which is not signed, neither lifts a hold of the log nor gives the tenant other settings', async () => {
  const held = await service.tenant();
  const url = `/api/tenants/${held.id}`;
  await service.call({ method: 'PUT', url, body: { legalHold: true } });
  await archiveOf(service, held.id);
  const folder = newFolder();
  cpSync(join(archive, `tenant=${held.id}`), join(folder, `tenant=${held.id}`), {
    recursive: true,
  });
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const forged = {
    legalHold: false,
    restoreUrl: 'https://evil.example/restore',
    digest: 'weekly',
    notifyEmails: ['eve@evil.example'],
  };
  edit(join(folder, find(names, '.json')), (known) => ({
    ...known,
    tenant: { ...known.tenant, ...forged },
  }));
  const fresh = await testService();
  await restoreArchive(envOf(fresh), folder, {});
  const set = { legalHold: true, restoreUrl: null, digest: 'none', notifyEmails: [] };
  expect((await fresh.call({ url })).body).toMatchObject(set);
  await expectLogIntact(fresh, held.id);
});

test('events of several days of a month come back under a plan with a partition for each day', async () => {
  const folder = newFolder();
  const CATALOGUE_FILE = join(folder, 'catalogue.json');
  const short = { name: 'Short', class: 7, keeps: { days: 60 }, archive: true };
  writeFileSync(CATALOGUE_FILE, JSON.stringify({ plans: [...defaultPlans.all, short] }));
  const daily = await testService({ CATALOGUE_FILE });
  const tenant = await tenantOf(daily, 'Short', 50);
  for (const daysAgo of [40, 39, 38]) {
    await recordAt(daily, tenant, daily.clock.now - daysAgo * day);
  }
  await archiveOf(daily, tenant.id);
  const fresh = await testService({ CATALOGUE_FILE });
  const env = { ...envOf(fresh), CATALOGUE_FILE };
  const { tenants } = await restoreArchive(env, join(daily.dataDir, 'objects/archive'), {});
  const [{ size = 0, events = 0 } = {}] = tenants;
  expect(events).toBe(size);
  expect(await storedOf(fresh, tenant.id, size)).toEqual(await storedOf(daily, tenant.id, size));
});

test.each(damages)('%s keeps everything from being restored', async (_, damage, sentence) => {
  const fresh = await testService();
  const folder = newFolder();
  cpSync(join(archive, `tenant=${one.id}`), join(folder, `tenant=${one.id}`), { recursive: true });
  damage(folder, readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort());
  await expect(restoreArchive(envOf(fresh), folder, {})).rejects.toThrow(sentence);
  const { rows } = await fresh.owner.query('SELECT count(*)::int AS count FROM tenants');
  expect(rows).toEqual([{ count: 0 }]);
});
