import { afterAll, expect, test } from 'vitest';
import { eventOf, testService } from '../testing/service.ts';

const service = await testService();
afterAll(() => service.close());

test('an event that was recorded is found by the next read', async () => {
  const tenant = await service.tenant();
  const written = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
    body: eventOf(),
  });
  expect(written.status).toBe(201);
  const listed = await service.call({ url: '/api/audit-logs', key: tenant.key });
  expect(listed.body.data.length).toBe(3);
  for (let i = 0; i < 3; i++) {
    const t = performance.now();
    const batch = await service.call({
      method: 'POST',
      url: '/api/audit-logs/batch',
      key: tenant.key,
      body: { events: Array.from({ length: 1000 }, () => eventOf()) },
    });
    console.log(performance.now() - t, JSON.stringify(batch.body.results[999]));
  }
  const { rows } = await service.owner.query('select size, octet_length(frontier) from log_heads');
  const { rows: tiles } = await service.owner.query(
    'select level, index, octet_length(data) from log_tiles',
  );
  console.log(rows, tiles);
  const stats = await service.call({
    url: '/api/audit-logs/stats?group_by=hour,action',
    key: tenant.key,
  });
  console.log(stats.text);
  const seq = await service.call({
    url: '/api/audit-logs?sort=sequence&limit=3&after_sequence=300',
    key: tenant.key,
  });
  console.log(seq.text.slice(0, 300));
});
