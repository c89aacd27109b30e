import { defaultCatalogue } from '@indelible/protocol';
import { expect } from 'vitest';
import type { TenantArchive } from '../../server/src/archive/archive.job.ts';
import type { ArchiveDeps } from '../../server/src/archive/archived-part.ts';
import { runArchive } from '../../server/src/archive/command.ts';
import { type Config, readConfig } from '../../server/src/config.ts';
import { openObjectStore } from '../../server/src/objects/open-store.ts';
import { withOwnerSession } from '../../server/src/postgres/db.ts';
import { recordOwnIn } from '../../server/src/record/own-events.store.ts';
import { expectLogIntact } from './intact.ts';
import { partFiles, rowsBelow } from './parquet.ts';
import { platformKey, type TestService } from './service.ts';

/** The environment of a test's service, for commands that read it. */
export function envOf({
  servingUrl,
  ownerUrl,
  dataDir,
}: Pick<TestService, 'servingUrl' | 'ownerUrl' | 'dataDir'>): Record<string, string> {
  return {
    PLATFORM_API_KEY: platformKey,
    DATABASE_URL: servingUrl,
    DATABASE_OWNER_URL: ownerUrl,
    DATA_DIR: dataDir,
  };
}

export function configOf(service: TestService, objectStoreUrl?: string): Config {
  const store = objectStoreUrl === undefined ? {} : { OBJECT_STORE_URL: objectStoreUrl };
  return readConfig({ ...envOf(service), ...store });
}

type Owner = ArchiveDeps['owner'];

export interface ArchiveChanges extends Partial<Omit<ArchiveDeps, 'owner'>> {
  /** Makes the transactions of the run out of those of its session. */
  owner?: (transaction: Owner) => Owner;
}

/** Publishes and archives what is recorded, as the service's own job does. */
export async function archiveNow(
  service: TestService,
  { owner, ...changes }: ArchiveChanges = {},
  { tenantId = null, objectStoreUrl }: { tenantId?: string | null; objectStoreUrl?: string } = {},
): Promise<TenantArchive[]> {
  await service.app.checkpoints.tick();
  const config = configOf(service, objectStoreUrl);
  const now = () => service.clock.now;
  const archive = (more: Partial<ArchiveDeps> = {}) =>
    runArchive(config, service.ownerUrl, tenantId, { now, ...changes, ...more });
  const outcomes = await (owner === undefined
    ? archive()
    : withOwnerSession(service.ownerUrl, async (session) => {
        const recordOwn = await recordOwnIn(session, defaultCatalogue, now);
        return archive({ owner: owner(session.transaction), recordOwn });
      }));
  if (outcomes === null) throw new Error('another process is archiving');
  return outcomes;
}

/** Publishes and archives what one tenant has recorded. */
export async function archiveOf(
  service: TestService,
  tenantId: string,
  changes: ArchiveChanges = {},
  objectStoreUrl?: string,
): Promise<TenantArchive> {
  const at = { tenantId, ...(objectStoreUrl === undefined ? {} : { objectStoreUrl }) };
  const [outcome] = await archiveNow(service, changes, at);
  if (outcome === undefined) throw new Error('the tenant is not archived');
  return outcome;
}

/** Every sequence once, in files that manifests name, and as many records as parts. */
export async function expectWhole(
  service: TestService,
  { id, key }: { id: string; key: string },
  parts: number,
): Promise<void> {
  const root = `${service.dataDir}/objects/archive/tenant=${id}`;
  const rows = await rowsBelow(root, partFiles.events);
  expect(rows.map(({ sequence }) => Number(sequence))).toEqual([...rows.keys()]);
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  const names = await objects.list(`archive/tenant=${id}`);
  expect(names.filter((name) => name.endsWith('.json'))).toHaveLength(parts);
  expect(names).toHaveLength(3 * parts);
  const { body } = await service.call({ url: '/api/audit-logs?resource=archive', key });
  expect(body.data).toHaveLength(parts);
  await expectLogIntact(service, id);
}
