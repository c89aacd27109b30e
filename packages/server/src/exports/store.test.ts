import { uuidFromTypeId } from '@indelible/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jobsSchema } from '../jobs.ts';
import { write } from '../postgres/db.ts';
import { askForJob, exportsUrl } from '../testing/exports.ts';
import { type TestService, testService } from '../testing/service.ts';
import { beginExport } from './store.ts';

/** Its jobs are never begun. */
let service: TestService;
beforeAll(async () => {
  service = await testService();
});
afterAll(() => service.close());

test('a third export of a tenant waits, also when three begin at the same moment', async () => {
  const { id: tenantId, key } = await service.tenant();
  const asked = await Promise.all([1, 2, 3].map(() => askForJob(service, key)));
  const ids = asked.map(({ id }) => uuidFromTypeId('exp_', id) ?? '');
  const setJobs = (state: string, of: readonly string[]) =>
    service.owner.query(`UPDATE ${jobsSchema}.job SET state = $1 WHERE id = ANY ($2)`, [state, of]);
  await setJobs('active', ids);
  const begin = (id: string) => write(service.db, (tx) => beginExport(tx, { tenantId, id }));
  const outcomes = await Promise.all(ids.map(begin));
  expect(outcomes.filter((each) => each === 'full')).toHaveLength(1);
  const late = ids[outcomes.indexOf('full')] ?? '';
  expect(await begin(late)).toBe('full');
  // A worker has died and the queue has taken its job back: there is a place again.
  await setJobs('retry', ids.filter((id) => id !== late).slice(0, 1));
  expect(await begin(late)).toMatchObject({ id: late, status: 'running', attempt: 1 });
});

test('an export whose sender was killed has failed within minutes, one still being sent has not', async () => {
  const { key } = await service.tenant();
  const sent = async () => {
    service.clock.now += 1; // so that the newest is the last one made
    const body = { filters: {}, format: 'csv' };
    await service.call({ method: 'POST', url: exportsUrl, key, body });
    const { body: list } = await service.call({ url: `${exportsUrl}?limit=1`, key });
    return String(list.data[0].id);
  };
  const [killed, alive] = [await sent(), await sent()];
  // As the process leaves it that was killed on its way.
  const setRow = (id: string, change: string) =>
    service.owner.query(
      `UPDATE exports SET status = 'running', finished_at = NULL, bytes = NULL, sha256 = NULL, ${change}
       WHERE id = $1`,
      [uuidFromTypeId('exp_', id)],
    );
  const minute = 60_000;
  service.clock.now += 10 * minute;
  await setRow(killed, 'alive_at = NULL');
  await setRow(alive, `alive_at = to_timestamp(${(service.clock.now - minute) / 1_000})`);
  await service.app.expireExports();
  const shown = async (id: string) =>
    (await service.call({ url: `${exportsUrl}/${id}`, key })).body;
  expect(await shown(killed)).toMatchObject({
    ...{ status: 'failed', error: 'every attempt was interrupted' },
  });
  expect((await shown(alive)).status).toBe('running');
  const list = '/api/audit-logs?action=export&include=state&resource_id=';
  const records = await service.call({ url: `${list}${uuidFromTypeId('exp_', killed)}`, key });
  expect(records.body.data[0].after).toMatchObject({ outcome: 'failed', failure: 'interrupted' });
});
