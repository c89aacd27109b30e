import { uuidFromTypeId } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { exportsUrl } from '../testing/exports.ts';
import { testService } from '../testing/service.ts';

const service = await testService();

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
  await service.app.background.run('export-expiry');
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
