import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { createClient, type EventInput } from '@indelible/client';
import { createOutbox, fromPg } from '@indelible/client/outbox';
import pg from 'pg';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { batchLoad, batchOf, rateOf } from './record.ts';
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
  { count, seconds, rounds }: Size,
): Promise<void> {
  const client = createClient({ url: service.url, key: service.key });
  for (const id of tenants)
    await client.tenants.put(id, { name: `Tenant ${id}`, plan: 'Enterprise' });
  await service.owner.query('CREATE DATABASE host');
  const connectionString = service.ownerUrl.replace(/(\/\/[^/]*\/)[^?]*/, '$1host');
  const pool = new pg.Pool({ connectionString, max: 4 });
  const outbox = createOutbox();
  await pool.query(outbox.migration);
  await compareInserts(pool, report, count / copies, rounds);
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 50);
  const prepare = async () => {
    await commitEach(pool, count / copies, outboxInsert);
    await fill(pool);
  };
  const relaying = async () => {
    const { rows } = await pool.query('SELECT count(*)::int AS count FROM audit_outbox');
    const started = performance.now();
    await outbox.relay({ pool, client }).drain();
    return rows[0].count / ((performance.now() - started) / 1_000);
  };
  const calls = tenants.map((tenantId) => batchOf(service, tenantId));
  const batches = async () => rateOf(await batchLoad(service, seconds, calls));
  await report.compare(
    {
      what: `outbox relay, a backlog of ${count} and more`,
      unit: 'events/s',
      prepare,
      measure: relaying,
      target: { least: 5_000 },
      limit: { what: 'batches made beforehand, 4 connections', measure: batches },
    },
    rounds,
  );
  clearInterval(watch);
  report.add(
    'memory of the host while it relays',
    `+ ${Math.round((peak - before) / 2 ** 20)} MiB`,
  );
  await pool.end();
}

/** What `inTransaction` adds to a transaction of the host. */
async function compareInserts(pool: pg.Pool, report: Report, commits: number, rounds: number) {
  await pool.query('CREATE TABLE raw_outbox (tenant_id uuid, event text)');
  const raw: Insert = (tx, event) =>
    tx.query({
      name: 'raw',
      text: 'INSERT INTO raw_outbox VALUES ($1, $2)',
      values: [event.tenantId, JSON.stringify(event)],
    });
  await report.compareLatencies(
    {
      what: 'outbox, what an event adds to a transaction',
      measure: () => commitEach(pool, commits, outboxInsert),
      limit: { what: 'a plain insert', measure: () => commitEach(pool, commits, raw) },
    },
    rounds,
  );
}

type Insert = (tx: pg.PoolClient, event: EventInput) => Promise<unknown>;

const audit = createOutbox().with(fromPg);
const outboxInsert: Insert = (tx, event) => audit.inTransaction(tx, event);

/** Milliseconds of the inserts, each in a transaction of its own, sorted. */
async function commitEach(pool: pg.Pool, commits: number, insert: Insert) {
  const tx = await pool.connect();
  const costs = new Float64Array(commits);
  for (let n = 0; n < commits; n += 1) {
    const event = benchEvent(tenants[n % tenants.length] ?? '') as EventInput;
    await tx.query('BEGIN');
    const before = performance.now();
    await insert(tx, event);
    costs[n] = performance.now() - before;
    await tx.query('COMMIT');
  }
  tx.release();
  return costs.sort();
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
