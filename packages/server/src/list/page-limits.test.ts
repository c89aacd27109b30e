import { randomBytes, randomUUID } from 'node:crypto';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { readShown } from '../events/store.ts';
import { inSequence, listEvents } from './list.store.ts';

const service = await testService();

test('a numbered page that would outgrow 8 MiB is refused, so that no number skips an event', async () => {
  const { key } = await service.tenant();
  const resource = { type: 'ivr', id: randomUUID() };
  const state = { text: 'x'.repeat(250_000) };
  const large = () => eventOf({ resource, before: state, after: { ...state, changed: true } });
  for (let batch = 0; batch < 2; batch++) {
    const body = { events: Array.from({ length: 10 }, large) };
    await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
  }
  const url = `/api/audit-logs?include=state&resource_id=${resource.id}`;
  const numbered = await service.call({ url: `${url}&limit=20&page=1`, key });
  expect(numbered.status).toBe(400);
  expect(numbered.body.detail).toContain('cursor');
  const fitting = await service.call({ url: `${url}&limit=10&page=2`, key });
  expect(fitting.body.data).toHaveLength(10);
  const first = await service.call({ url: `${url}&limit=20`, key });
  const next = `${url}&limit=20&cursor=${first.body.pagination.nextCursor}`;
  const second = await service.call({ url: next, key });
  const ids = [...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id);
  expect(new Set(ids).size).toBe(20);
});

test('PostgreSQL reads little more of large events than the page holds', async () => {
  const { id, key } = await service.tenant();
  const large = () => eventOf({ before: { text: randomBytes(180_000).toString('base64') } });
  for (let batch = 0; batch < 3; batch++) {
    const body = { events: Array.from({ length: 30 }, large) };
    const answer = await service.call({ method: 'POST', url: '/api/audit-logs/batch', key, body });
    expect(answer.status).toBe(200);
  }
  const bytesRead = async () => {
    const { rows } = await service.owner.query<{ bytes: number }>(
      `SELECT 8192 * sum(toast_blks_read + toast_blks_hit)::float8 AS bytes
       FROM pg_statio_user_tables WHERE relname LIKE 'audit_events%'`,
    );
    return rows[0]?.bytes ?? 0;
  };
  const query = { ...inSequence, sort: 'timestamp', limit: 500 } as const;
  const include = { total: false, state: true };
  const before = await bytesRead();
  const page = await readShown(service.db, id, service.clock.now, async (visible) => {
    await visible.tx.query({ text: 'SELECT pg_stat_force_next_flush()' });
    return listEvents({ ...query, include, filter: {} }, visible, null);
  });
  expect(page.rows.length).toBeLessThan(40);
  const read = (await bytesRead()) - before;
  expect(read).toBeGreaterThan(8 * 2 ** 20);
  expect(read).toBeLessThan(3 * 8 * 2 ** 20);
});

test('one answer names faults of the shape and broken rules', async () => {
  const { key } = await service.tenant();
  const body = eventOf({
    colour: 'red',
    timestamp: new Date(service.clock.now + 3_600_000).toISOString(),
    action: 'heartbeat',
    crossTenant: true,
  });
  const answer = await service.call({ method: 'POST', url: '/api/audit-logs', key, body });
  expect(answer.status).toBe(422);
  const codes = answer.body.errors.map(({ code }: { code: string }) => code).sort();
  expect(codes).toEqual([
    'cross_tenant_mismatch',
    'not_recordable',
    'timestamp_in_future',
    'unknown_field',
  ]);
});
