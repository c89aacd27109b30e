import { renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { lateClass } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { restoreArchive } from '../archive/command.ts';
import { openPartWriter } from '../archive/draft-part.ts';
import { formatManifest } from '../archive/manifest.ts';
import { readManifest, sha256Hex, withPart } from '../archive/part-files.ts';
import type { ArchivedRow } from '../cold/archived-row.ts';
import { openObjectStore } from '../objects/open-store.ts';
import { archiveNow, configOf, envOf } from '../testing/archived.ts';
import { moveToArchive, rowsOf, tenantOfMonths } from '../testing/cold.ts';
import { eraseNow, offboardNow } from '../testing/erasure-setup.ts';
import { testService } from '../testing/service.ts';
import { erasurePlan } from './command.ts';

const service = await testService();
const tenant = await tenantOfMonths(service, 60);

const address = 'user3@example.com';
const get = (query: string) =>
  service.call({ url: `/api/audit-logs?limit=500&${query}`, key: tenant.key });

/** How many rows PostgreSQL has that nothing reads. */
async function below(): Promise<number> {
  const { rows } = await service.owner.query(
    `SELECT count(*)::int AS count FROM audit_events e JOIN tenants t ON t.id = tenant_id
     WHERE tenant_id = $1 AND e.id < cold_before AND retention_class <> $2`,
    [tenant.id, lateClass],
  );
  return rows[0].count;
}

test('an erasure reaches events that have left PostgreSQL, and their words', async () => {
  await moveToArchive(service, tenant);
  const rows = await rowsOf(service, tenant);
  const found = await get(`on_behalf_of=${address}`);
  expect(found.body.data).toHaveLength(1);
  expect((await get('q=user3')).body.data).toHaveLength(1);
  const [{ id, onBehalfOf }] = found.body.data;
  await eraseNow(service, { tenantId: tenant.id, actor: address });
  const expectErased = async () => {
    expect((await get(`on_behalf_of=${address}`)).body.data).toEqual([]);
    expect((await get('q=user3')).body.data).toEqual([]);
    const [left] = (await get(`on_behalf_of=${onBehalfOf[0].id}`)).body.data;
    expect(left).toMatchObject({ id, erased: ['identity'], actor: { email: null } });
    expect(JSON.stringify(left)).not.toContain('user3');
  };
  await expectErased();
  // What came back for the erasure goes again, also after a move to a plan without archive.
  expect(await below()).toBeGreaterThan(0);
  const archives = `UPDATE plans SET archive = $1 WHERE name = 'Enterprise'`;
  await service.owner.query(archives, [false]);
  expect(await archiveNow(service)).toEqual([]);
  await service.owner.query(archives, [true]);
  expect(await below()).toBe(0);
  await moveToArchive(service, tenant);
  expect(await rowsOf(service, tenant)).toBeLessThan(rows + 12);
  await expectErased();
  expect(await eraseNow(service, { tenantId: tenant.id, actor: address }).catch(String)).toContain(
    'no event of the tenant has an identity of the actor',
  );
});

test('without the archive nothing is erased, and the operator is told which object is missing', async () => {
  const own = join(service.dataDir, `objects/archive/tenant=${tenant.id}`);
  renameSync(own, `${own}-away`);
  const env = envOf(service);
  const erased = erasurePlan(env, { tenantId: tenant.id, actor: 'user4@example.com' });
  await expect(erased).rejects.toThrow(/archive\/tenant=.*\.parquet is not in the object store/);
  renameSync(`${own}-away`, own);
});

test('who can write to the object store cannot let an erasure show other events', async () => {
  await moveToArchive(service, tenant);
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  const archived = await objects.list(`archive/tenant=${tenant.id}`);
  const name = archived.filter((each) => each.endsWith('.json')).sort()[0] ?? '';
  const manifest = await readManifest(objects, name);
  const other = manifest.files.events.name.replace('.parquet', '-9.parquet');
  const put = (to: string, bytes: Uint8Array) =>
    objects.putStream(to, Readable.from([Buffer.from(bytes)]));
  const forged = await withPart({ objects, tmpDir: tmpdir() }, name, manifest, async (rows) => {
    const writer = await openPartWriter();
    for await (const page of rows()) for (const row of page) writer.append(renamed(row));
    return writer.end().events;
  });
  await put(`${dirname(name)}/${other}`, forged);
  const events = { name: other, bytes: forged.length, sha256: sha256Hex(forged) };
  const files = { ...manifest.files, events };
  await put(name, formatManifest({ ...manifest, files }));
  const erased = eraseNow(service, { tenantId: tenant.id, actor: 'ana.new@example.com' });
  await expect(erased).rejects.toThrow('differs from the log');
  expect((await get('action=forged')).body.data).toEqual([]);
  await put(name, formatManifest(manifest));
});

const renamed = ({ body, ...row }: ArchivedRow): ArchivedRow => ({
  ...{ ...row, body: body && { ...body, event: { ...body.event, action: 'forged' } } },
});

test('an archive of events that have left PostgreSQL is loaded whole, and offboarding removes them', async () => {
  const fresh = await testService();
  const root = join(service.dataDir, 'objects/archive');
  await restoreArchive(envOf(fresh), root, { tenantId: tenant.id });
  const { rows: loaded } = await fresh.owner.query(
    `SELECT count(*)::int AS count FROM audit_events WHERE recorded_by_kind = 'api_key'`,
  );
  expect(loaded).toEqual([{ count: 60 + 12 + 3 + 3 + 300 }]);
  await fresh.close();

  const { offboarding } = await offboardNow(service, tenant.id);
  expect(offboarding.counts.events).toBe(offboarding.size);
  const left = 'SELECT FROM cold_parts WHERE tenant_id = $1';
  expect((await service.owner.query(left, [tenant.id])).rowCount).toBe(0);
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  expect(await objects.list(`archive/tenant=${tenant.id}`)).toEqual([]);
});
