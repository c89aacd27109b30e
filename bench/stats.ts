import { randomBytes } from 'node:crypto';
import { eventIdFromUuid, importedEventUuid } from '@indelible/protocol';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { load, requestOf } from './load.ts';
import type { Report, Size } from './report.ts';

const day = 86_400_000;

/** Statistics over 30 days, of events of 60 days, beside the bare counts by SQL. */
export async function benchStats(
  service: BenchService,
  report: Report,
  { count: events, seconds, rounds }: Size,
): Promise<void> {
  const { id, key, call } = await service.tenant('events:read', 'events:write');
  const now = Date.now();
  for (let at = 0; at < events; at += 1_000) {
    const batch = Array.from({ length: Math.min(1_000, events - at) }, (_, n) => {
      const ms = Math.floor(now - 60 * day * (1 - (at + n + Math.random()) / events));
      return { ...benchEvent(id), id: eventIdFromUuid(importedEventUuid(ms, n, randomBytes(8))) };
    });
    await call('POST', '/api/audit-logs/batch', { events: batch });
  }
  await service.owner.query('VACUUM (ANALYZE) audit_events');
  const columns = {
    day: "date_trunc('day', uuid_extract_timestamp(id))",
    user: 'actor_id',
    action: 'action',
    resource: 'resource_type',
  };
  const from = new Date(now - 30 * day);
  for (const keys of ['day', 'user', 'action', 'action,resource', 'day,action', 'day,user']) {
    const path = `/api/audit-logs/stats?group_by=${keys}&from=${from.toISOString()}`;
    const requests = [requestOf('GET', path, key)];
    const by = Object.entries(columns).flatMap(([name, column]) =>
      keys.split(',').includes(name) ? [column] : [],
    );
    const text = `SELECT ${by}, count(*)::int AS count FROM audit_events WHERE tenant_id = $1
      AND retention_class = ANY ('{2, 1000}') AND id >= first_id_at($2) GROUP BY ${by}`;
    const { total } = await call<{ total: number }>('GET', path);
    const sql = async () => {
      const started = performance.now();
      const { rows } = await service.owner.query<{ count: number }>(text, [id, from]);
      const tookMs = performance.now() - started;
      const counted = rows.reduce((sum, { count }) => sum + count, 0);
      if (counted !== total) throw new Error(`${total} events, and ${counted} by SQL`);
      return tookMs;
    };
    const measure = async () => {
      const result = await load({ url: service.url, connections: 1, seconds, requests });
      if (result.failures > 0) throw new Error(`group_by=${keys}: ${result.failures} refused`);
      return result.latencies;
    };
    await report.compareLatencies(
      {
        what: `stats, group_by=${keys}, last 30 days`,
        p50Max: 150,
        measure,
        limit: {
          what: 'the bare counts by SQL',
          measure: async () => Float64Array.of(await sql()),
        },
      },
      rounds,
    );
  }
}
