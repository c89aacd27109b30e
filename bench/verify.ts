import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchService } from './bench-service.ts';
import type { Report, Size } from './report.ts';
import { writeSyntheticBundle } from './synthetic-bundle.ts';

const program = join(import.meta.dirname, 'verify-process.ts');

/**
 * Offline verification: events a second of one core, and memory at a small and at a large bundle.
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
      const measured = execFileSync(process.execPath, [program, join(folder, 'bundle')]);
      const { seconds, cpu, memory, result } = JSON.parse(measured.toString());
      if (result !== 'intact') throw new Error('the bundle does not verify');
      const what = `offline verification of ${count} events, ${Math.round(bytes / count)} B each`;
      report.target(`${what}, a core`, count / cpu, 50_000, 'events/s', 0);
      report.add(`${what}, with what waits for files and other cores`, `${seconds.toFixed(1)} s`);
      report.add(`${what}, peak memory`, `${Math.round(memory / 2 ** 20)} MiB`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}
