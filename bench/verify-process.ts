import { verifyBundle } from '../packages/cli/src/bundle/verify-bundle.ts';
import { noProgress } from '../packages/cli/src/verify/log-source.ts';
import { memoryOf } from './process-memory.ts';

// Started by bench/verify.ts: verifies a bundle, and prints what that took.
const [folder = ''] = process.argv.slice(2);
const before = process.cpuUsage();
const report = await verifyBundle(folder, { vkeys: [], plan: null, progress: noProgress });
const { user, system } = process.cpuUsage(before);
const { seconds, result } = report;
const { peak: memory } = memoryOf('self');
process.stdout.write(JSON.stringify({ seconds, cpu: (user + system) / 1e6, memory, result }));
