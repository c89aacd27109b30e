import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchService } from './bench-service.ts';
import type { Report, Size } from './report.ts';
import { writeSyntheticBundle } from './synthetic-bundle.ts';

/**
 * Offline verification: events a second of one core and of all, beside reading and hashing the same
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
      const limit = { what: 'SHA-256 of these events, a core', measure: hashing };
      await report.compare(
        {
          what: `${what}, a core`,
          unit: 'events/s',
          limit,
          target: { least: 60_000 },
          measure: async () => count / verify(bundle, '0').cpu,
        },
        rounds,
      );
      let memory = 0;
      const onAll = async () => {
        const made = verify(bundle);
        memory = Math.max(memory, made.memory);
        return count / made.seconds;
      };
      const cores = `${what}, with the ${availableParallelism()} cores of the machine`;
      await report.compare(
        { what: cores, unit: 'events/s', limit, target: { least: 100_000 }, measure: onAll },
        rounds,
      );
      report.add(`${what}, peak memory`, `${Math.round(memory / 2 ** 20)} MiB`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

/** In a process of its own, with so many threads beside its first. */
function verify(bundle: string, ...threads: string[]) {
  const program = [join(import.meta.dirname, 'verify-process.ts'), bundle];
  const measured = execFileSync(process.execPath, [...program, ...threads]);
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
