import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { createClient, type EventInput } from '@indelible/client';
import { createOutbox, fromPg } from '@indelible/client/outbox';
import pg from 'pg';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { percentile } from './load.ts';
import type { Report, Size } from './report.ts';

/** Each becomes this number of rows in the backlog. */
const copies = 20;
const tenants = Array.from({ length: 20 }, () => randomUUID());

/**
 * The outbox in a database of its own, on the same
 * PostgreSQL as the service: as few machines have it.
 */
export async function benchOutbox(
  service: BenchService,
  report: Report,
  { count }: Size,
): Promise<void> {
  const client = createClient({ url: service.url, key: service.key });
  for (const id of tenants)
    await client.tenants.put(id, { name: `Tenant ${id}`, plan: 'Enterprise' });
  await service.owner.query('CREATE DATABASE host');
  const connectionString = service.ownerUrl.replace(/(\/\/[^/]*\/)[^?]*/, '$1host');
  const pool = new pg.Pool({ connectionString, max: 4 });
  const outbox = createOutbox();
  await pool.query(outbox.migration);
  await measureInsert(pool, report, count / copies);
  await fill(pool);
  const { rows } = await pool.query('SELECT count(*)::int AS count FROM audit_outbox');
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 50);
  const started = performance.now();
  await outbox.relay({ pool, client }).drain();
  const rate = rows[0].count / ((performance.now() - started) / 1_000);
  clearInterval(watch);
  report.target(`outbox relay, a backlog of ${rows[0].count}`, rate, 5_000, 'events/s', 0);
  report.add(
    'memory of the host while it relays',
    `+ ${Math.round((peak - before) / 2 ** 20)} MiB`,
  );
  await pool.end();
}

/** What `inTransaction` adds to a transaction of the host. */
async function measureInsert(pool: pg.Pool, report: Report, commits: number): Promise<void> {
  const audit = createOutbox().with(fromPg);
  const tx = await pool.connect();
  const costs = new Float64Array(commits);
  for (let n = 0; n < commits; n += 1) {
    const event = benchEvent(tenants[n % tenants.length] ?? '') as EventInput;
    await tx.query('BEGIN');
    const before = performance.now();
    await audit.inTransaction(tx, event);
    costs[n] = performance.now() - before;
    await tx.query('COMMIT');
  }
  tx.release();
  const sorted = costs.sort();
  const figure = [0.5, 0.99].map((share) => percentile(sorted, share).toFixed(2));
  report.add(
    'outbox, what an event adds to a transaction',
    `p50 ${figure[0]} ms, p99 ${figure[1]} ms`,
  );
}

/** More rows like those that are there, each with an id of its own in the event. */
async function fill(pool: pg.Pool): Promise<void> {
  await pool.query(
    `INSERT INTO audit_outbox (event_id, tenant_id, event)
     SELECT '', tenant_id, (event::jsonb - 'id')::text
     FROM audit_outbox, generate_series(1, $1::int) ORDER BY random()`,
    [copies],
  );
}
