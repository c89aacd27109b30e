import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifiedArchive } from '../testing/archive-copy.ts';
import { verifiedBundle } from '../testing/bundle-of.ts';

/* A bundle and an archive of a service that knew no entries of version 2. */

const folder = join(import.meta.dirname, '../testing/first-version');

test('a bundle of before version 2 is intact, with what was erased in it', async () => {
  const { result, checked } = await verifiedBundle(join(folder, 'bundle'));
  expect(result).toBe('intact');
  expect(checked.bodies).toMatchObject({ bodies: 8, intact: 8 });
  expect(checked.bodies?.erased).toMatchObject({ identity: { events: 3 }, state: { events: 1 } });
});

test('an archive of before version 2 is intact', async () => {
  const tenantId = '325c82ca-245d-442a-8343-9c4f33f52b13';
  const report = await verifiedArchive(join(folder, 'archive'), { tenantId });
  expect(report).toMatchObject({ result: 'intact', checked: { entries: 8 } });
});
