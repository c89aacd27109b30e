import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { type LoadResult, load, percentile, requestOf } from './load.ts';
import { median, type Report, type Size } from './report.ts';
import { wordsIndexed } from './words-indexed.ts';

const batchSize = 500;

/** Recording in batches and one by one, each beside the audit log that a team writes itself. */
export async function benchRecord(
  service: BenchService,
  report: Report,
  { count, seconds, rounds }: Size,
): Promise<void> {
  const made = Array.from({ length: count }, () => service.tenant('events:write'));
  const tenants = (await Promise.all(made)).map(({ id }) => id);
  const homeMade = await service.homeMade();
  report.memory('at rest', service.memory().now);
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
      limit: {
        what: 'a home-made table, one multi-row INSERT a batch',
        measure: async () => rateOf(await batchLoad(homeMade, seconds, homeMadeBatches(tenants))),
      },
      ratio: { least: 1.3 },
    },
    rounds,
  );
  failures += await benchSingles(service, homeMade.url, report, { tenants, seconds, rounds });
  await homeMade.stop();
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

/** Single events; how many calls failed. */
async function benchSingles(
  service: BenchService,
  homeMadeUrl: string,
  report: Report,
  { tenants, seconds, rounds }: { tenants: readonly string[]; seconds: number; rounds: number },
): Promise<number> {
  let failures = 0;
  // Four times as many callers wait four times as long.
  for (const { connections, p99Max, least } of [
    { connections: 64, p99Max: 50, least: 1.2 },
    { connections: 256, p99Max: 200, least: 2 },
  ]) {
    const what = `single POSTs, ${connections} connections`;
    const latencies: number[][] = [];
    const measure = async () => {
      const result = await singleLoad(service, service.url, seconds, tenants, connections);
      failures += result.failures;
      latencies.push([percentile(result.latencies, 0.5), percentile(result.latencies, 0.99)]);
      return result.requests / result.seconds;
    };
    const limit = {
      what: 'a home-made table, one INSERT a request',
      measure: async () => {
        const requests = homeMadeSingles(tenants);
        const result = await load({ url: homeMadeUrl, connections, seconds, requests });
        return result.requests / result.seconds;
      },
    };
    await report.compare(
      {
        what,
        unit: 'events/s',
        prepare: () => wordsIndexed(service),
        measure,
        limit,
        ratio: { least },
      },
      rounds,
    );
    const medianOf = (at: number) => median(latencies.map((each) => each[at] ?? Number.NaN));
    report.latency(`${what}, medians`, medianOf(0), medianOf(1), p99Max);
  }
  return failures;
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

const homeMadeSingles = (tenants: readonly string[]) =>
  Array.from({ length: 2_000 }, (_, at) =>
    requestOf('POST', '/events', '', benchEvent(tenants[at % tenants.length] ?? '')),
  );

const homeMadeBatches = (tenants: readonly string[]) =>
  tenants.map((tenantId) => {
    const events = Array.from({ length: batchSize }, () => benchEvent(tenantId));
    return requestOf('POST', '/events/batch', '', { events });
  });

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
  { url }: { url: string },
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
