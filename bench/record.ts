import { randomUUID } from 'node:crypto';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { type LoadResult, load, percentile, requestOf } from './load.ts';
import { rawInsert } from './raw-insert.ts';
import { median, type Report, type Size } from './report.ts';
import { wordsIndexed } from './words-indexed.ts';

const batchSize = 500;

/** Recording in batches and one by one, each beside raw inserts into the same tables. */
export async function benchRecord(
  service: BenchService,
  report: Report,
  { count, seconds, rounds }: Size,
): Promise<void> {
  const made = Array.from({ length: count }, () => service.tenant('events:write'));
  const tenants = (await Promise.all(made)).map(({ id }) => id);
  // The index of words would read these rows between the events of the measured logs.
  const strangers = Array.from({ length: count }, () => randomUUID());
  report.memory('at rest', service.memory().now);
  const limit = {
    what: 'raw multi-row insert, 500 a statement, 2 connections',
    measure: () => rawInsert(service, strangers, seconds),
  };
  const prepare = () => wordsIndexed(service);
  let failures = 0;
  const plain = tenants.map((tenantId) => batchOf(service, tenantId));
  const batches = async (calls: Buffer[]) => {
    const result = await batchLoad(service, seconds, calls);
    failures += result.failures;
    return rateOf(result);
  };
  await report.compare(
    {
      what: 'batch ingest over HTTP, 500 a batch, 4 connections',
      unit: 'events/s',
      prepare,
      measure: () => batches(plain),
      limit,
      ratio: { least: 0.75 },
    },
    rounds,
  );
  // Four times as many callers wait four times as long.
  for (const { connections, p99Max } of [
    { connections: 64, p99Max: 40 },
    { connections: 256, p99Max: 160 },
  ]) {
    const what = `single POSTs, ${connections} connections`;
    const latencies: number[][] = [];
    const measure = async () => {
      const result = await singleLoad(service, service.url, seconds, tenants, connections);
      failures += result.failures;
      latencies.push([percentile(result.latencies, 0.5), percentile(result.latencies, 0.99)]);
      return result.requests / result.seconds;
    };
    await report.compare(
      { what, unit: 'events/s', prepare, measure, limit, ratio: { least: 0.25 } },
      rounds,
    );
    const medianOf = (at: number) => median(latencies.map((each) => each[at] ?? Number.NaN));
    report.latency(`${what}, medians`, medianOf(0), medianOf(1), p99Max);
  }
  report.memory('peak under recording load', service.memory().peak);
  let round = 0;
  await report.compare(
    {
      what: "batches with a source's numbers",
      unit: 'events/s',
      ratio: { least: 0.9 },
      measure: async () => {
        await prepare();
        return batches(numberedBatches(service, tenants, `round-${round++}`, seconds));
      },
      prepare,
      limit: { what: 'batches without', measure: () => batches(plain) },
    },
    rounds,
  );
  report.add('refused of all of these', String(failures), '0', failures === 0);
}

/** Events a second. */
export const rateOf = ({ requests, seconds }: LoadResult) => (requests * batchSize) / seconds;

/** A call, made beforehand: what is measured is the service, not JSON.stringify. */
export function batchOf(
  { key }: BenchService,
  tenantId: string,
  more: (at: number) => object = () => ({}),
): Buffer {
  const events = Array.from({ length: batchSize }, (_, at) => ({
    ...benchEvent(tenantId),
    ...more(at),
  }));
  return requestOf('POST', '/api/audit-logs/batch', key, { events });
}

/** More than are sent, in the order of a tenant's numbers; each round is a source of its own. */
function numberedBatches(
  service: BenchService,
  tenants: readonly string[],
  source: string,
  seconds: number,
): Buffer[] {
  return Array.from({ length: 60 * seconds }, (_, n) => {
    const first = Math.floor(n / tenants.length) * batchSize;
    const sourceOf = (at: number) => ({ source: { id: source, sequence: first + at } });
    return batchOf(service, tenants[n % tenants.length] ?? '', sourceOf);
  });
}

/** On 4 connections. */
export function batchLoad(
  { url }: BenchService,
  seconds: number,
  requests: readonly Buffer[],
): Promise<LoadResult> {
  return load({ url, connections: 4, seconds, requests });
}

export function singleLoad(
  { key }: BenchService,
  url: string,
  seconds: number,
  tenants: readonly string[],
  connections = 64,
): Promise<LoadResult> {
  return load({ url, connections, seconds, requests: singles(key, tenants, 2_000) });
}

/** Calls that record an event each, of these tenants in turns. */
export function singles(key: string, tenants: readonly string[], count: number): Buffer[] {
  return Array.from({ length: count }, (_, at) =>
    requestOf('POST', '/api/audit-logs', key, benchEvent(tenants[at % tenants.length] ?? '')),
  );
}
