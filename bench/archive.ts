import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BenchService } from './bench-service.ts';
import { copySeconds } from './copy.ts';
import { benchEvent } from './events.ts';
import { median, type Report, type Size } from './report.ts';

interface Measured {
  events: number;
  bytes: number;
  seconds: number;
  /** Processor time of the process itself, without PostgreSQL. */
  cpuSeconds: number;
  peakBytes: number;
}

/**
 * The archive: so many events of one tenant, beside PostgreSQL's COPY of them, and as many
 * kilobytes of states, archived and verified.
 */
export async function benchArchive(
  service: BenchService,
  report: Report,
  { count: events, rounds }: Size,
): Promise<void> {
  let tenantId = '';
  const runs: Measured[] = [];
  const archiving = async () => {
    const run = await measure(service, 'run', tenantId);
    runs.push(run);
    return run.events / run.seconds;
  };
  const copying = async () =>
    events / (await copySeconds(service, `tenant_id = '${tenantId}' ORDER BY sequence`));
  await report.compare(
    {
      what: `archive: ${events} events`,
      unit: 'events/s',
      target: { least: 40_000 },
      // A tenant of its own for each round, because events are archived once.
      prepare: async () => {
        tenantId = await recorded(service, events, () => ({}));
      },
      measure: archiving,
      limit: { what: 'COPY of 16 columns as they are', measure: copying },
    },
    rounds,
  );
  const cpuSeconds = median(runs.map((run) => run.cpuSeconds));
  const bytes = median(runs.map((run) => run.bytes / run.events));
  const peakBytes = Math.max(...runs.map((run) => run.peakBytes));
  report.add('archive: processor time, without PostgreSQL', `${cpuSeconds.toFixed(1)} s`);
  report.add('archive: bytes an event', `${bytes.toFixed(0)}`);
  const [memory, isSmall] = [mibOf({ peakBytes }), peakBytes <= 300 * 2 ** 20];
  report.add('archive: memory of the process, at its peak', memory, '≤ 300 MiB', isSmall);
  const verified = await measure(service, 'verify', tenantId);
  report.add('archive: verified offline', rateOf(verified));
  report.add('archive: memory of the verifying process', mibOf(verified));
  // States as large as they come in practice: the limit of characters ends the segments.
  const state = () => ({ after: { script: randomUUID().repeat(550) } });
  const large = await recorded(service, Math.min(events, 10_000), state);
  const heavy = await measure(service, 'run', large);
  report.add(`archive: ${heavy.events} events with 20 kB of state`, rateOf(heavy));
  report.add('archive: memory of the process then', mibOf(heavy));
}

const rateOf = ({ events, seconds, cpuSeconds }: Measured) =>
  `${Math.round(events / seconds)} events/s, ${cpuSeconds.toFixed(1)} s of CPU`;

const mibOf = ({ peakBytes }: Pick<Measured, 'peakBytes'>) =>
  `${Math.round(peakBytes / 2 ** 20)} MiB`;

/** A tenant with so many events, all below a published checkpoint. */
async function recorded(
  service: BenchService,
  events: number,
  more: () => object,
): Promise<string> {
  const tenant = await service.tenant('events:read');
  const { id: tenantId } = tenant;
  const batch = 250;
  for (let done = 0; done < events; done += batch) {
    const body = Array.from({ length: batch }, () => ({ ...benchEvent(tenantId), ...more() }));
    await service.call('POST', '/api/audit-logs/batch', { events: body });
  }
  const now = { 'cache-control': 'no-cache' };
  await tenant.call('GET', '/api/audit-logs/checkpoint', undefined, now);
  return tenantId;
}

async function measure(
  { servingUrl, ownerUrl, dataDir, key }: BenchService,
  what: 'run' | 'verify',
  tenantId: string,
): Promise<Measured> {
  const location = join(dataDir, 'objects', 'archive');
  const program = join(import.meta.dirname, 'archive-process.ts');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, what, tenantId, location],
    {
      env: {
        ...process.env,
        DATA_DIR: dataDir,
        DATABASE_URL: servingUrl,
        DATABASE_OWNER_URL: ownerUrl,
        PLATFORM_API_KEY: key,
      },
    },
  );
  return JSON.parse(stdout);
}
