import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { createClient, type EventInput } from '@indelible/client';
import { createRecorder, type RecorderOptions } from '@indelible/client/recorder';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { percentile } from './load.ts';
import type { Report, Size } from './report.ts';

const eventsPerYield = 20;
const tenants = Array.from({ length: 20 }, () => randomUUID());

/**
 * What a call of `record` costs the caller, while the same thread sends batches: the
 * event loop is given up after every few calls, as it is between a host's requests.
 */
export async function benchRecorder(
  service: BenchService,
  report: Report,
  { count }: Size,
): Promise<void> {
  const admin = createClient({ url: service.url, key: service.key });
  for (const id of tenants)
    await admin.tenants.put(id, { name: `Tenant ${id}`, plan: 'Enterprise' });
  const spoolFolder = await mkdtemp(join(tmpdir(), 'indelible-bench-spool-'));
  const away = createClient({ url: 'http://127.0.0.1:9', key: service.key, attempts: 1 });
  const there = { client: admin, spoolFolder };
  await measure('record, the service there', there, report, count);
  await measure('record, durable', { ...there, durable: true }, report, count);
  await measure('record, the service away', { ...there, client: away }, report, count);
  await drainSpool({ client: admin, spoolFolder }, report);
  await rm(spoolFolder, { recursive: true });
}

async function measure(
  what: string,
  options: RecorderOptions,
  report: Report,
  events: number,
): Promise<void> {
  const recorder = createRecorder({ ...options, onWarning: () => {} });
  const inputs = tenants.map((tenantId) => benchEvent(tenantId) as EventInput);
  const costs = new Float64Array(events);
  const started = performance.now();
  for (let n = 0; n < events; n += 1) {
    const event = inputs[n % inputs.length] as EventInput;
    const before = performance.now();
    recorder.record(event);
    costs[n] = performance.now() - before;
    if (n % eventsPerYield === 0) await setImmediate();
  }
  const rate = events / ((performance.now() - started) / 1_000);
  const { lost } = await recorder.flush();
  await recorder.close();
  const sorted = costs.sort();
  const micro = (share: number) => percentile(sorted, share) * 1_000;
  const figure = `p50 ${micro(0.5).toFixed(1)} µs, p99 ${micro(0.99).toFixed(1)} µs`;
  const isMet = micro(0.5) <= 20 && micro(0.99) <= 200 && lost === 0;
  const load = `${Math.round(rate)} calls/s, ${lost} lost`;
  report.add(`${what} (${load})`, figure, 'p50 ≤ 20 µs, p99 ≤ 200 µs', isMet ? 'yes' : 'no');
}

async function drainSpool(options: RecorderOptions, report: Report): Promise<void> {
  const started = performance.now();
  const recorder = createRecorder(options);
  const { sent } = await recorder.flush();
  const rate = sent / ((performance.now() - started) / 1_000);
  await recorder.close();
  report.add(
    `a spool of ${sent} events, delivered when the service is back`,
    `${Math.round(rate)} events/s`,
  );
}
