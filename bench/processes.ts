import type { BenchService, Serving } from './bench-service.ts';
import { percentile } from './load.ts';
import { singleLoad } from './record.ts';
import { median, type Report, type Size } from './report.ts';

/** What a window of load showed. */
interface Window {
  microseconds: number;
  rate: number;
  p99: number;
}

/**
 * Single events recorded by several processes, beside one: what an event costs the service and
 * PostgreSQL together. One tenant, 50, and `count`, because processes wait for each other's heads.
 */
export async function benchProcesses(
  service: BenchService,
  report: Report,
  { count, seconds, rounds }: Size,
): Promise<void> {
  const made = Array.from({ length: count }, () => service.tenant('events:write'));
  const tenants = (await Promise.all(made)).map(({ id }) => id);
  const one = await service.serving(1);
  await singleLoad(service, one.url, 2 * seconds, tenants);
  for (const processes of rounds > 1 ? [2, 4] : [2]) {
    const several = await service.serving(processes);
    // A process is slow until its code is compiled, and each gets a part of the load.
    await singleLoad(service, several.url, 2 * seconds * processes, tenants);
    for (const number of new Set([1, Math.min(50, count), count])) {
      const some = tenants.slice(0, number);
      const windows: Window[] = [];
      const measure = async (serving: Serving, kept: Window[]) => {
        const window = await windowOf(service, serving, seconds, some);
        kept.push(window);
        return window.microseconds;
      };
      const what = `${processes} processes, tenants: ${number}`;
      const limit = { what: 'one process', measure: () => measure(one, []) };
      await report.compare(
        {
          what: `${what}: service and PostgreSQL`,
          ...{ unit: 'µs an event', measure: () => measure(several, windows), limit },
          ratio: { most: 1.25 },
        },
        rounds,
      );
      report.add(what, `${Math.round(median(windows.map(({ rate }) => rate)))} events/s`);
      report.atMost(`${what}, p99`, median(windows.map(({ p99 }) => p99)));
    }
    await several.stop();
  }
  await one.stop();
}

async function windowOf(
  service: BenchService,
  serving: Serving,
  seconds: number,
  tenants: readonly string[],
): Promise<Window> {
  const spent = () => serving.processorSeconds() + service.postgresSeconds();
  const before = spent();
  const result = await singleLoad(service, serving.url, seconds, tenants);
  return {
    microseconds: ((spent() - before) / result.requests) * 1e6,
    rate: result.requests / result.seconds,
    p99: percentile(result.latencies, 0.99),
  };
}
