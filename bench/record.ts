import { randomUUID } from 'node:crypto';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { type LoadResult, load, percentile } from './load.ts';
import { rawInsert } from './raw-insert.ts';
import type { Report } from './report.ts';

const tenants = Array.from({ length: 50 }, () => randomUUID());
const batchSize = 500;

/** Recording: the raw limit first, then batches, then single events, all on the same tables. */
export async function benchRecord(
  service: BenchService,
  report: Report,
  seconds: number,
): Promise<void> {
  await makeTenants(service);
  report.memory('at rest', service.memory().now);
  const raw = await rawInsert(service, tenants, seconds);
  report.add('raw multi-row insert, 500 a statement, 2 connections', `${Math.round(raw)} events/s`);

  // Bodies are made beforehand: what is measured is the service, not JSON.stringify.
  const plain = tenants.map((tenantId) => batchOf(tenantId));
  const batches = await batchLoad(service, seconds, plain);
  const batchRate = rateOf(batches);
  report.target(
    'batch ingest over HTTP, 500 a batch, 4 connections',
    batchRate,
    18_000,
    'events/s',
    batches.failures,
  );
  report.ratio('batch ingest / raw insert', batchRate / raw, 0.4);

  const singles = await singleLoad(service, seconds);
  report.target(
    'single POSTs, 64 connections',
    singles.requests / singles.seconds,
    6_000,
    '/s',
    singles.failures,
  );
  report.latency(
    'single POSTs, 64 connections',
    percentile(singles.latencies, 0.5),
    percentile(singles.latencies, 0.99),
    50,
  );
  report.memory('peak under recording load', service.memory().peak);

  for (const round of [1, 2]) {
    const without = rateOf(await batchLoad(service, seconds, plain));
    const numbered = rateOf(await batchLoad(service, seconds, numberedBatches(round, seconds)));
    report.add(
      `batches with a source's numbers / without, round ${round}`,
      `${Math.round(numbered)} / ${Math.round(without)} = ${(numbered / without).toFixed(2)}`,
    );
  }
}

const rateOf = ({ requests, seconds }: LoadResult) => (requests * batchSize) / seconds;

function batchOf(tenantId: string, more: (at: number) => object = () => ({})): Buffer {
  const events = Array.from({ length: batchSize }, (_, at) => ({
    ...benchEvent(tenantId),
    ...more(at),
  }));
  return Buffer.from(JSON.stringify({ events }));
}

/** More than are sent, in the order of a tenant's numbers; each round is a source of its own. */
function numberedBatches(round: number, seconds: number): Buffer[] {
  return Array.from({ length: 60 * seconds }, (_, n) => {
    const first = Math.floor(n / tenants.length) * batchSize;
    const sourceOf = (at: number) => ({ source: { id: `round-${round}`, sequence: first + at } });
    return batchOf(tenants[n % tenants.length] ?? '', sourceOf);
  });
}

async function makeTenants(service: BenchService): Promise<void> {
  for (const id of tenants) {
    const answer = await fetch(`${service.url}/api/tenants/${id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `Tenant ${id}`, plan: 'Enterprise' }),
    });
    if (answer.status !== 201)
      throw new Error(`a tenant could not be made: ${await answer.text()}`);
  }
}

const headersOf = (service: BenchService) =>
  `authorization: Bearer ${service.key}\r\ncontent-type: application/json\r\n`;

function batchLoad(
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

function singleLoad(service: BenchService, seconds: number): Promise<LoadResult> {
  const bodies = Array.from({ length: 2_000 }, (_, i) =>
    Buffer.from(JSON.stringify(benchEvent(tenants[i % tenants.length] ?? ''))),
  );
  let index = 0;
  return load({
    url: service.url,
    connections: 64,
    seconds,
    next: () => ({
      method: 'POST',
      path: '/api/audit-logs',
      headers: headersOf(service),
      body: bodies[index++ % bodies.length] ?? null,
    }),
  });
}
