import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { type LoadResult, load, percentile } from './load.ts';
import { rawInsert } from './raw-insert.ts';
import { median, type Report, type Size } from './report.ts';

const batchSize = 500;

/** Recording in batches and one by one, each beside raw inserts into the same tables. */
export async function benchRecord(
  service: BenchService,
  report: Report,
  { count, seconds, rounds }: Size,
): Promise<void> {
  const made = Array.from({ length: count }, () => service.tenant('events:write'));
  const tenants = (await Promise.all(made)).map(({ id }) => id);
  report.memory('at rest', service.memory().now);
  const limit = {
    what: 'raw multi-row insert, 500 a statement, 2 connections',
    measure: () => rawInsert(service, tenants, seconds),
  };
  let failures = 0;
  // Bodies are made beforehand: what is measured is the service, not JSON.stringify.
  const plain = tenants.map((tenantId) => batchOf(tenantId));
  const batches = async (bodies: Buffer[]) => {
    const result = await batchLoad(service, seconds, bodies);
    failures += result.failures;
    return rateOf(result);
  };
  await report.compare(
    {
      what: 'batch ingest over HTTP, 500 a batch, 4 connections',
      ...{ unit: 'events/s', measure: () => batches(plain), limit, ratio: { least: 0.75 } },
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
    const singles = async () => {
      const result = await singleLoad(service, service.url, seconds, tenants, connections);
      failures += result.failures;
      latencies.push([percentile(result.latencies, 0.5), percentile(result.latencies, 0.99)]);
      return result.requests / result.seconds;
    };
    await report.compare(
      { what, unit: 'events/s', measure: singles, limit, ratio: { least: 0.25 } },
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
      ...{ unit: 'events/s', ratio: { least: 0.9 } },
      measure: () => batches(numberedBatches(tenants, `round-${round++}`, seconds)),
      limit: { what: 'batches without', measure: () => batches(plain) },
    },
    rounds,
  );
  report.add('refused of all of these', String(failures), '0', failures === 0 ? 'yes' : 'no');
}

/** Events a second. */
export const rateOf = ({ requests, seconds }: LoadResult) => (requests * batchSize) / seconds;

/** The body of a call. */
export function batchOf(tenantId: string, more: (at: number) => object = () => ({})): Buffer {
  const events = Array.from({ length: batchSize }, (_, at) => ({
    ...benchEvent(tenantId),
    ...more(at),
  }));
  return Buffer.from(JSON.stringify({ events }));
}

/** More than are sent, in the order of a tenant's numbers; each round is a source of its own. */
function numberedBatches(tenants: readonly string[], source: string, seconds: number): Buffer[] {
  return Array.from({ length: 60 * seconds }, (_, n) => {
    const first = Math.floor(n / tenants.length) * batchSize;
    const sourceOf = (at: number) => ({ source: { id: source, sequence: first + at } });
    return batchOf(tenants[n % tenants.length] ?? '', sourceOf);
  });
}

const headersOf = (service: BenchService) =>
  `authorization: Bearer ${service.key}\r\ncontent-type: application/json\r\n`;

/** On 4 connections. */
export function batchLoad(
  service: BenchService,
  seconds: number,
  bodies: readonly Buffer[],
): Promise<LoadResult> {
  let index = 0;
  return load({
    url: service.url,
    connections: 4,
    seconds,
    next: () => ({
      method: 'POST',
      path: '/api/audit-logs/batch',
      headers: headersOf(service),
      body: bodies[index++ % bodies.length] ?? null,
    }),
  });
}

export function singleLoad(
  service: BenchService,
  url: string,
  seconds: number,
  tenants: readonly string[],
  connections = 64,
): Promise<LoadResult> {
  const bodies = Array.from({ length: 2_000 }, (_, i) =>
    Buffer.from(JSON.stringify(benchEvent(tenants[i % tenants.length] ?? ''))),
  );
  let index = 0;
  return load({
    url,
    connections,
    seconds,
    next: () => ({
      method: 'POST',
      path: '/api/audit-logs',
      headers: headersOf(service),
      body: bodies[index++ % bodies.length] ?? null,
    }),
  });
}
