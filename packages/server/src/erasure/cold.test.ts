import { afterAll, expect, test } from 'vitest';
import { moveToArchive, rowsOf, tenantOfMonths } from '../testing/cold.ts';
import { eraseNow } from '../testing/erasure-setup.ts';
import { testService } from '../testing/service.ts';

const service = await testService();
const tenant = await tenantOfMonths(service, 60);
afterAll(() => service.close());

const address = 'user3@example.com';
const get = (query: string) =>
  service.call({ url: `/api/audit-logs?limit=500&${query}`, key: tenant.key });

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
  // What came back for the erasure goes again.
  await moveToArchive(service, tenant);
  expect(await rowsOf(service, tenant)).toBeLessThan(rows + 12);
  await expectErased();
  expect(await eraseNow(service, { tenantId: tenant.id, actor: address }).catch(String)).toContain(
    'no event of the tenant has an identity of this actor',
  );
});
