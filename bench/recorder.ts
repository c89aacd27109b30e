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
  { count, rounds }: Size,
): Promise<void> {
  const admin = createClient({ url: service.url, key: service.key });
  for (const id of tenants)
    await admin.tenants.put(id, { name: `Tenant ${id}`, plan: 'Enterprise' });
  const spoolFolder = await mkdtemp(join(tmpdir(), 'indelible-bench-spool-'));
  const away = createClient({ url: 'http://127.0.0.1:9', key: service.key, attempts: 1 });
  const there = { client: admin, spoolFolder };
  const sizes = { count, rounds };
  await measure('record, the service there', there, report, sizes);
  await measure('record, durable', { ...there, durable: true }, report, sizes);
  await measure('record, the service away', { ...there, client: away }, report, sizes);
  await drainSpool({ client: admin, spoolFolder }, report);
  await rm(spoolFolder, { recursive: true });
}

async function measure(
  what: string,
  options: RecorderOptions,
  report: Report,
  { count, rounds }: Pick<Size, 'count' | 'rounds'>,
): Promise<void> {
  let lost = 0;
  const recording = async () => {
    const recorder = createRecorder({ ...options, onWarning: () => {} });
    const costs = await costsOf(count, (event) => recorder.record(event));
    lost += (await recorder.flush()).lost;
    await recorder.close();
    return costs;
  };
  const writing = () => costsOf(count, (event) => JSON.stringify(event));
  await report.compareLatencies(
    {
      what,
      unit: 'µs',
      measure: recording,
      p50Max: 20,
      p99Max: 200,
      limit: { what: 'JSON.stringify of the event', measure: writing },
    },
    rounds,
  );
  report.add(`${what}: events lost`, String(lost), '0', lost === 0, [lost]);
}

/** Microseconds of each call, sorted. */
async function costsOf(count: number, call: (event: EventInput) => void): Promise<Float64Array> {
  const inputs = tenants.map((tenantId) => benchEvent(tenantId) as EventInput);
  const costs = new Float64Array(count);
  for (let n = 0; n < count; n += 1) {
    const event = inputs[n % inputs.length] as EventInput;
    const before = performance.now();
    call(event);
    costs[n] = 1_000 * (performance.now() - before);
    if (n % eventsPerYield === 0) await setImmediate();
  }
  return costs.sort();
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
