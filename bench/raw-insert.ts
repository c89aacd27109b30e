import { randomBytes, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { eventUuid } from '@indelible/protocol';
import type pg from 'pg';
import type { BenchService } from './bench-service.ts';

const rows = 500;
const columns = 24;

/**
 * The limit to compare with: plain prepared multi-row INSERTs into the same events table, with its
 * partitions and indexes, by two connections without HTTP, validation, hashing or a log. Events/s.
 */
export async function rawInsert(
  service: BenchService,
  tenants: readonly string[],
  seconds: number,
): Promise<number> {
  const clients = await Promise.all([service.connect(), service.connect()]);
  const started = performance.now();
  const end = started + seconds * 1_000;
  const counts = await Promise.all(clients.map((client) => insertUntil(client, tenants, end)));
  const elapsed = (performance.now() - started) / 1_000;
  await Promise.all(clients.map((client) => client.end()));
  return counts.reduce((sum, count) => sum + count, 0) / elapsed;
}

const text = `INSERT INTO audit_events (tenant_id, id, sequence, received_at, actor_id, resource_id,
  recorded_by_id, retention_class, cross_tenant, recorded_by_kind, actor_email, actor_email_key, actor_role,
  actor_ip, actor_user_agent, action, resource_type, resource_name, category, reason, diff, before, after, salts)
  VALUES ${Array.from({ length: rows }, (_, row) => `(${Array.from({ length: columns }, (_, c) => `$${row * columns + c + 1}`)})`)}`;

async function insertUntil(
  client: pg.Client,
  tenants: readonly string[],
  end: number,
): Promise<number> {
  await client.query('SET plan_cache_mode = force_generic_plan');
  let count = 0;
  // The rows are made once and get new ids each time, so that the limit is PostgreSQL's, not ours.
  const values = Array.from({ length: rows }, (_, i) =>
    rowOf(tenants[i % tenants.length] ?? '', i),
  ).flat();
  while (performance.now() < end) {
    for (let row = 0; row < rows; row++)
      values[row * columns + 1] = eventUuid(Date.now(), randomBytes(10));
    await client.query({ name: 'raw', text, values });
    count += rows;
  }
  return count;
}

function rowOf(tenantId: string, index: number): unknown[] {
  const diff =
    '{"announcement":{"from":"Please hold the line","to":"Your call matters to us"},"maxWaitSeconds":{"from":30,"to":60},"overflowQueue":{"from":null,"to":"Second level"}}';
  const agent =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0';
  const email = `agent${index % 300}@example.com`;
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  return [
    tenantId,
    '',
    0,
    new Date(),
    ...ids,
    2,
    false,
    'api_key',
    email,
    email,
    'admin',
    '203.0.113.7',
    agent,
    'update',
    'queue',
    `Queue ${index}`,
    'configuration',
    null,
    diff,
    null,
    null,
    randomBytes(48),
  ];
}
