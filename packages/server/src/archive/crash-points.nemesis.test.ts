import { type ArchiveChanges, archiveOf, configOf, expectWhole } from '@indelible/testing/archived';
import { recordMany } from '@indelible/testing/event-pool';
import { testService } from '@indelible/testing/service';
import { killedEverywhere } from '@indelible/testing/steps';
import { expect, test } from 'vitest';
import { openObjectStore } from '../objects/open-store.ts';

const service = await testService();

test('a run that is killed at any of its steps is completed by those after it', async () => {
  const tenant = await service.tenant();
  await recordMany(service, tenant.key, 5);
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  const limits = { entries: 3, characters: 1e6 };
  const steps = await killedEverywhere(async (each) => {
    const owner: ArchiveChanges['owner'] = (transaction) => (work) =>
      transaction((tx) => work(each.connection(tx)));
    return archiveOf(service, tenant.id, { owner, limits, objects: each.objects(objects) });
  });
  expect(steps).toBeGreaterThan(3);
  expect(await archiveOf(service, tenant.id)).toMatchObject({ problem: null });
  const names = await objects.list(`archive/tenant=${tenant.id}`);
  await expectWhole(service, tenant, names.filter((name) => name.endsWith('.json')).length);
});
