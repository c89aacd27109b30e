import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { benchAlerts } from './alerts.ts';
import { benchArchive } from './archive.ts';
import { type BenchService, startBenchService } from './bench-service.ts';
import { benchExport } from './export.ts';
import { benchList } from './list.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchOutbox } from './outbox.ts';
import { benchPanel } from './panel.ts';
import { benchProof } from './proof.ts';
import { benchRecord } from './record.ts';
import { benchRecorder } from './recorder.ts';
import { Report, type Size } from './report.ts';
import { benchRetention } from './retention.ts';
import { benchStats } from './stats.ts';
import { benchVerify } from './verify.ts';
import { benchWebhooks } from './webhooks.ts';

/*
 * `npm run bench` measures everything in one run, on one machine, each figure beside its limit:
 *   npm run bench -- --only record --seconds 10
 *   npm run bench -- --only list --count 10000000
 *   npm run bench -- --json figures.json
 * `--smoke` runs every bench on a few events: whether it runs, not how fast.
 */

interface Bench {
  run(service: BenchService, report: Report, size: Size): Promise<void>;
  count: number;
  seconds?: number;
  /** The count of `--smoke`. */
  smoke: number;
}

const benches: Record<string, Bench> = {
  verify: { run: benchVerify, count: 500_000, smoke: 600 },
  record: { run: benchRecord, count: 50, seconds: 8, smoke: 2 },
  recorder: { run: benchRecorder, count: 100_000, smoke: 200 },
  outbox: { run: benchOutbox, count: 100_000, smoke: 200 },
  list: { run: benchList, count: 5_000_000, smoke: 2_000 },
  stats: { run: benchStats, count: 232_000, seconds: 2, smoke: 2_000 },
  retention: { run: benchRetention, count: 5_000_000, seconds: 3, smoke: 1_000 },
  archive: { run: benchArchive, count: 100_000, smoke: 200 },
  export: { run: benchExport, count: 1_000_000, seconds: 8, smoke: 500 },
  panel: { run: benchPanel, count: 1_000_000, smoke: 500 },
  proof: { run: benchProof, count: 1_000_000, smoke: 600 },
  neighbours: { run: benchNeighbours, count: 1_000_000, seconds: 20, smoke: 500 },
  webhooks: { run: benchWebhooks, count: 50_000, smoke: 500 },
  alerts: { run: benchAlerts, count: 1_000_000, smoke: 200 },
};

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    count: { type: 'string' },
    seconds: { type: 'string' },
    json: { type: 'string' },
    smoke: { type: 'boolean', default: false },
  },
});

function sizeOf({ count, seconds = 15, smoke }: Bench): Size {
  if (values.smoke) return { count: smoke, seconds: 0.2, rounds: 1 };
  const given = {
    count: Number(values.count ?? count),
    seconds: Number(values.seconds ?? seconds),
  };
  return { ...given, rounds: 3 };
}

const wanted = Object.entries(benches).filter(([name]) => (values.only ?? name) === name);
if (wanted.length === 0) throw new Error(`--only takes ${Object.keys(benches).join(', ')}`);
const report = new Report();
const service = await startBenchService();
try {
  const { rows } = await service.owner.query<{ version: string }>('SELECT version()');
  const about = {
    machine: `${cpus()[0]?.model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    postgres: rows[0]?.version,
    at: new Date().toISOString(),
  };
  console.log(Object.values(about).join(', '));
  for (const [name, bench] of wanted) {
    const began = performance.now();
    await bench.run(service, report, sizeOf(bench));
    console.log(`${name} took ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  }
  report.print();
  if (values.json !== undefined) report.write(values.json, about);
} finally {
  await service.stop();
}
