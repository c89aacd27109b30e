import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchService } from './bench-service.ts';
import type { Report, Size } from './report.ts';
import { writeSyntheticBundle } from './synthetic-bundle.ts';

/**
 * Offline verification: events a second of processor time, beside reading and hashing the same
 * events once, and memory at a small and at a large bundle.
 */
export async function benchVerify(
  _service: BenchService,
  report: Report,
  { count: events, rounds }: Size,
): Promise<void> {
  for (const count of [Math.ceil(events / 10), events]) {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'));
    try {
      const bundle = join(folder, 'bundle');
      const bytes = writeSyntheticBundle(bundle, count);
      const what = `offline verification of ${count} events, ${Math.round(bytes / count)} B each`;
      const hashing = async () => count / (await cpuOfHashing(join(bundle, 'events.ndjson')));
      let memory = 0;
      const measure = async () => {
        const made = verify(bundle);
        memory = Math.max(memory, made.memory);
        return count / made.cpu;
      };
      const limit = { what: 'SHA-256 of these events', measure: hashing };
      const target = { least: eventsEachSecondMin };
      await report.compare({ what, unit: 'events/s', limit, target, measure }, rounds);
      const mebibytes = Math.round(memory / 2 ** 20);
      report.add(`${what}, peak memory`, `${mebibytes} MiB`, '≤ 300 MiB', mebibytes <= 300);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

/** Ten million events in ten minutes. */
const eventsEachSecondMin = 17_000;

/** Verifies in a process of its own. */
function verify(bundle: string) {
  const program = join(import.meta.dirname, 'verify-process.ts');
  const measured = execFileSync(process.execPath, [program, bundle]);
  const { result, ...figures } = JSON.parse(measured.toString());
  if (result !== 'intact') throw new Error('the bundle does not verify');
  return figures as { cpu: number; seconds: number; memory: number };
}

async function cpuOfHashing(file: string): Promise<number> {
  const before = process.cpuUsage();
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  hash.digest();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
