import cluster from 'node:cluster';
import { startService } from '../packages/server/src/main.ts';
import { startOneOfSeveral, startProcesses } from '../packages/server/src/processes.ts';

// Started by bench/bench-service.ts: prints its URL when ready, then serves until SIGTERM.
const { env } = process;
const processes = Number(env.PROCESSES ?? 1);
const service = await (cluster.isWorker
  ? startOneOfSeveral(env, ['api', 'worker'])
  : processes > 1
    ? startProcesses(env, processes, 30_000)
    : startService(env));
if (!cluster.isWorker) process.stdout.write(`${service.url}\n`);
process.on('SIGTERM', () => void service.stop().then(() => process.exit(0)));
