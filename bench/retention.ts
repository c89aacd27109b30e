import { performance } from 'node:perf_hooks';
import { type OwnerSession, withOwnerSession } from '../packages/server/src/postgres/db.ts';
import { detachAll } from '../packages/server/src/retention/detach.ts';
import {
  countByTenant,
  listPartitions,
  listRetired,
  retirePartition,
  stepsOfDropping,
} from '../packages/server/src/retention/partitions.store.ts';
import type { BenchService } from './bench-service.ts';
import { load, percentile } from './load.ts';
import { singles } from './record.ts';
import type { Report, Size } from './report.ts';
import { insertEvents } from './seed.ts';

/**
 * Retention: removes a partition with this number of rows while events are recorded; then another
 * one while a transaction has it open. Removal is final and hides the rows; freeing the disk space
 * follows in steps, and is measured separately.
 */
export async function benchRetention(
  service: BenchService,
  report: Report,
  { count: rows, seconds: readerSeconds }: Size,
): Promise<void> {
  const { id: tenantId } = await service.tenant('events:read');
  const inMillions = `${rows / 1_000_000} M events`;
  const free = await partitionOf(service, tenantId, rows, 14);
  const calm = recording(service, tenantId, 2 * readerSeconds);
  const { countMs, removeMs, steps } = await remove(service, free);
  report.add(`retention: counting ${inMillions} that go`, `${Math.round(countMs)} ms`);
  report.atMost(`retention: removing a partition of ${inMillions}`, removeMs, 1_000);
  const allMs = steps.reduce((sum, ms) => sum + ms, 0);
  report.add('giving its space back, without a lock', `${Math.round(allMs)} ms`);
  report.add(`the longest of its ${steps.length} steps`, `${Math.round(Math.max(...steps))} ms`);
  report.atMost('slowest single POST meanwhile', (await calm).slowestMs, 1_000);
  const read = await partitionOf(service, tenantId, rows, 15);
  const busy = recording(service, tenantId, 2 * readerSeconds);
  const reader = await openReader(service, read);
  const ends = new Promise((resolve) => setTimeout(resolve, readerSeconds * 1_000)).then(reader);
  const { removeMs: withReaderMs } = await remove(service, read);
  await ends;
  const limit = (readerSeconds + 1) * 1_000;
  report.atMost(`the same, open for reading for ${readerSeconds} s`, withReaderMs, limit);
  const { slowestMs, failures } = await busy;
  report.atMost(`slowest single POST meanwhile, ${failures} failed`, slowestMs, 1_000);
}

/** Fills the month so long ago; returns the name of its partition. */
async function partitionOf(
  { owner }: BenchService,
  tenantId: string,
  rows: number,
  monthsAgo: number,
): Promise<string> {
  const made = await owner.query<{ name: string; first: Date }>(
    `SELECT partition_name(1::smallint, month) AS name, month AS first
     FROM (SELECT date_trunc('month', now() - make_interval(months => $1)) AS month) m`,
    [monthsAgo],
  );
  const { name = '', first = new Date() } = made.rows[0] ?? {};
  // As its owner: a superuser's table would be out of
  // the job's reach. Indexes come with attaching it.
  await owner.query('SET ROLE indelible_owner');
  await owner.query(`CREATE TABLE ${name} (LIKE audit_events INCLUDING CONSTRAINTS)`);
  const fromMs = first.getTime();
  const range = { fromMs, toMs: fromMs + 27 * 86_400_000 };
  await insertEvents(owner, { table: name, retentionClass: 1, tenantId, events: rows, ...range });
  await owner.query('SELECT place_partition(1::smallint, $1::timestamptz)', [first]);
  await owner.query(`VACUUM (ANALYZE) ${name}`);
  await owner.query('RESET ROLE');
  await owner.query('CHECKPOINT'); // what is due has long been on the disk
  return name;
}

async function remove({ ownerUrl }: BenchService, name: string) {
  return withOwnerSession(ownerUrl, async (owner) => {
    const partition = (await listPartitions(owner)).find((each) => each.name === name);
    if (!partition) throw new Error(`there is no partition ${name}`);
    const started = performance.now();
    await countByTenant(owner, partition);
    const counted = performance.now();
    const { waiting } = await detachAll(owner, [partition]);
    if (waiting.length > 0) throw new Error(`${name} could not be detached`);
    await owner.transaction((tx) => retirePartition(tx, partition));
    const removeMs = performance.now() - counted;
    return { countMs: counted - started, removeMs, steps: await discard(owner) };
  });
}

/** Milliseconds of each step. */
async function discard(owner: OwnerSession): Promise<number[]> {
  const times: number[] = [];
  for (const table of await listRetired(owner)) {
    for (const step of await stepsOfDropping(owner, table)) {
      const started = performance.now();
      await owner.query(step);
      times.push(performance.now() - started);
    }
  }
  return times;
}

/** An open transaction that reads the partition; the returned function ends it. */
async function openReader(service: BenchService, name: string): Promise<() => Promise<void>> {
  const client = await service.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.query(`SELECT id FROM audit_events WHERE retention_class = 1 LIMIT 1`);
  await client.query(`SELECT id FROM ${name} LIMIT 1`);
  return async () => {
    await client.query('COMMIT');
    await client.end();
  };
}

async function recording({ url, key }: BenchService, tenantId: string, seconds: number) {
  const { latencies, failures } = await load({
    url,
    connections: 8,
    seconds,
    requests: singles(key, [tenantId], 500),
  });
  return { slowestMs: percentile(latencies, 1), failures };
}
