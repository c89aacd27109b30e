import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchService } from './bench-service.ts';
import type { Report, Size } from './report.ts';
import { writeSyntheticBundle } from './synthetic-bundle.ts';

/**
 * Offline verification: events a second of one core and of all, and memory at a small and at a
 * large bundle.
 */
export async function benchVerify(
  _service: BenchService,
  report: Report,
  { count: events }: Size,
): Promise<void> {
  for (const count of [Math.ceil(events / 10), events]) {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'));
    try {
      const bytes = writeSyntheticBundle(join(folder, 'bundle'), count);
      const measure = (...threads: string[]) => {
        const program = [join(import.meta.dirname, 'verify-process.ts'), join(folder, 'bundle')];
        const measured = execFileSync(process.execPath, [...program, ...threads]);
        const { result, ...figures } = JSON.parse(measured.toString());
        if (result !== 'intact') throw new Error('the bundle does not verify');
        return figures;
      };
      const what = `offline verification of ${count} events, ${Math.round(bytes / count)} B each`;
      const { cpu } = measure('0');
      report.target(`${what}, a core`, count / cpu, 60_000, 'events/s', 0);
      const { seconds, memory } = measure();
      const cores = `${what}, with the ${availableParallelism()} cores of the machine`;
      report.target(cores, count / seconds, 100_000, 'events/s', 0);
      report.add(`${what}, peak memory`, `${Math.round(memory / 2 ** 20)} MiB`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}
