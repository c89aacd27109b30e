import { performance } from 'node:perf_hooks';
import type { BenchService } from './bench-service.ts';

const yearMs = 365 * 86_400_000;

/**
 * Fills the events table by SQL, 84 months back: what lists cost depends on rows, partitions and
 * indexes, not on how the rows came. The log is left out (lists do not read it). Returns seconds.
 */
export async function seedEvents(
  { owner }: BenchService,
  tenantId: string,
  events: number,
): Promise<number> {
  const started = performance.now();
  await owner.query(
    `SELECT make_partition(2::smallint, now() - make_interval(months => m)) FROM generate_series(0, 84) m`,
  );
  const toMs = Date.now();
  const range = { fromMs: toMs - 6.9 * yearMs, toMs };
  await insertEvents(owner, {
    table: 'audit_events',
    retentionClass: 2,
    tenantId,
    events,
    ...range,
  });
  await owner.query('VACUUM (ANALYZE) audit_events');
  return (performance.now() - started) / 1_000;
}

/** Rows of a tenant, spread evenly over the time. */
export async function insertEvents(
  owner: BenchService['owner'],
  wanted: {
    table: string;
    retentionClass: number;
    tenantId: string;
    events: number;
    fromMs: number;
    toMs: number;
  },
): Promise<void> {
  const { table, retentionClass, tenantId, events, fromMs, toMs } = wanted;
  const chunk = 250_000;
  for (let from = 0; from < events; from += chunk) {
    const until = Math.min(from + chunk, events);
    const values = [tenantId, from, until, events, retentionClass, fromMs, toMs - fromMs];
    await owner.query(insert(table), values);
    process.stderr.write(`\rmaking events: ${Math.round((100 * until) / events)} %`);
  }
  process.stderr.write('\n');
}

// Ids: 48 bits of milliseconds, version and variant, then the counter.
const insert = (table: string) => `
  INSERT INTO ${table} (tenant_id, id, sequence, received_at, actor_id, resource_id, recorded_by_id,
    retention_class, cross_tenant, recorded_by_kind, actor_email, actor_email_key, actor_role, actor_ip,
    actor_user_agent, action, resource_type, resource_name, category, reason, diff, salts)
  SELECT $1::uuid, (lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid,
    n, now(), ('00000000-0000-4000-8000-' || lpad(to_hex(person), 12, '0'))::uuid,
    ('00000000-0000-4000-9000-' || lpad(to_hex((n * 7919) % 20000), 12, '0'))::uuid, $1::uuid, $5, person = 299, 'api_key',
    'agent' || person || '@example.com', 'agent' || person || '@example.com', case when person = 299 then 'superadmin' else 'admin' end,
    '203.0.113.7', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0',
    kind[1], kind[2], 'Queue ' || (n % 2000),
    case when person = 299 then 'cross_tenant' else kind[3] end, null,
    json_build_object('maxWaitSeconds', json_build_object('from', 30, 'to', n % 600)), '\\x000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'::bytea
  FROM (
    SELECT n, ($6::float8 + $7::float8 * n / $4::float8)::bigint AS ms,
      (n * 31 + n / 977) % 300 AS person,
      (ARRAY[ARRAY['update','queue','configuration'], ARRAY['update','agent','configuration'], ARRAY['access','recording','data_access'],
        ARRAY['create','did','configuration'], ARRAY['access','recording','data_access'], ARRAY['push','crm','integration'],
        ARRAY['login','session','security']])[1 + (n * 13 + n / 1009) % 7 : 1 + (n * 13 + n / 1009) % 7] AS k
    FROM generate_series($2::bigint, $3::bigint - 1) n
  ) raw, LATERAL (SELECT ARRAY[k[1][1], k[1][2], k[1][3]] AS kind) kinds`;
