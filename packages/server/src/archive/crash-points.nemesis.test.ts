import { expect, test } from 'vitest';
import { openObjectStore } from '../objects/open-store.ts';
import { withOwnerSession } from '../postgres/db.ts';
import { archiveOf, configOf, expectWhole } from '../testing/archived.ts';
import { recordAll } from '../testing/event-pool.ts';
import { eventOf, testService } from '../testing/service.ts';
import { killedEverywhere } from '../testing/steps.ts';
import type { ArchiveDeps } from './archived-part.ts';

const service = await testService();

test('a run that is killed at any of its steps is completed by those after it', async () => {
  const tenant = await service.tenant();
  const events = Array.from({ length: 5 }, () => eventOf());
  await recordAll(service, tenant.key, events);
  const objects = openObjectStore(configOf(service).objectStoreUrl);
  const limits = { entries: 3, characters: 1e6 };
  const steps = await killedEverywhere(async (each) => {
    const owner: ArchiveDeps['owner'] = (work) =>
      withOwnerSession(service.ownerUrl, (session) =>
        session.transaction((tx) => work(each.connection(tx))),
      );
    return archiveOf(service, tenant.id, { owner, limits, objects: each.objects(objects) });
  });
  expect(steps).toBeGreaterThan(3);
  expect(await archiveOf(service, tenant.id)).toMatchObject({ problem: null });
  const names = await objects.list(`archive/tenant=${tenant.id}`);
  await expectWhole(service, tenant, names.filter((name) => name.endsWith('.json')).length);
});
