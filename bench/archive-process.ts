import { performance } from 'node:perf_hooks';
import { verifyArchive } from '../packages/cli/src/archive/verify-archive.ts';
import { noProgress } from '../packages/cli/src/verify/log-source.ts';
import { archiveLog } from '../packages/server/src/archive/command.ts';
import { memoryOf } from './process-memory.ts';

// Started by bench/archive.ts, a process a figure: what it does, then how long it took and what it
// took of memory, as one line of JSON.
const [what = '', tenantId = '', location = ''] = process.argv.slice(2);
const started = performance.now();
const facts = what === 'run' ? await run() : await verify();
const seconds = (performance.now() - started) / 1_000;
const cpuSeconds = process.cpuUsage().user / 1e6;
const { peak: peakBytes } = memoryOf('self');
process.stdout.write(`${JSON.stringify({ ...facts, seconds, cpuSeconds, peakBytes })}\n`);

async function run() {
  const [archived] = (await archiveLog(process.env, tenantId)) ?? [];
  if (!archived || archived.problem !== null) throw new Error(archived?.problem ?? 'nothing came');
  const { parts } = archived;
  return {
    events: parts.reduce((sum, each) => sum + each.events, 0),
    bytes: parts.reduce((sum, each) => sum + each.bytes, 0),
  };
}

async function verify() {
  const report = await verifyArchive(location, { tenantId, vkeys: [], progress: noProgress });
  if (report.result !== 'intact') throw new Error(report.summary);
  return { events: report.checked.bodies?.intact ?? 0, bytes: 0 };
}
