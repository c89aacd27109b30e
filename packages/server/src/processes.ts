import cluster, { type Worker } from 'node:cluster';
import { once as emitted } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, type Environment, readConfig } from './config.ts';
import { begin, orUndone, startService } from './main.ts';
import { SharedMetrics } from './operations/shared-metrics.ts';
import { notListening, once, type Role, type Service } from './serve.ts';

/** What a process tells at its start: its URL, or why it does not serve. */
type FromProcess = { url: string } | { failed: string };

/** Between the end of a process and its replacement: a start that fails must not spin. */
const restartMs = 1_000;

/** What the embedded PostgreSQL needs to stop after the processes, or it would stay behind. */
const lastMs = 5_000;

/**
 * Starts the service as `count` processes that share one port (SO_REUSEPORT, so on Linux alone),
 * one database and one data folder; this process serves nothing itself. One that ends is replaced.
 * `stop` stops all, then the embedded PostgreSQL, within `stopMsMax`. If this process is killed,
 * the others end at once. Each of them runs the command of this process again, and has to call
 * `startOneOfSeveral`.
 */
export async function startProcesses(
  env: Environment,
  count: number,
  stopMsMax: number,
): Promise<Service> {
  return orUndone(async (cleanup) => {
    const given = readConfig(env);
    const port = await freePort(given);
    const { embedded, prepare } = await begin(given, count, cleanup);
    const ground = await prepare(given, embedded);
    const { config, logger, platformKeyFile, takenOver } = ground;
    await ground.partitions;
    const metrics = new SharedMetrics();
    const running = new Set<Worker>();
    const stopping = new AbortController();
    const replace = (worker: Worker, reason: object) => {
      running.delete(worker);
      const restart = async () => {
        await sleep(restartMs, undefined, { signal: stopping.signal });
        logger.error(reason, 'a process has ended, and is replaced');
        start();
      };
      restart().catch((err) => stopping.signal.aborted || replace(worker, { err }));
    };
    const start = () => {
      const worker = cluster.fork({
        ...env,
        PORT: String(port),
        DATABASE_URL: config.databaseUrl ?? '',
        DATABASE_OWNER_URL: config.databaseOwnerUrl ?? '',
        PLATFORM_API_KEY: config.platformApiKeys.join(','),
      });
      running.add(worker);
      metrics.watch(worker);
      const { pid } = worker.process;
      worker.once('exit', (code, signal) => replace(worker, { pid, code, signal }));
      // It was not started, or a message did not reach it because it ends: others go on.
      worker.on('error', (err) => pid === undefined && replace(worker, { err }));
      worker.on('message', (message: FromProcess) => {
        if ('failed' in message) logger.error(message.failed);
      });
      return worker;
    };
    const stop = once(async () => {
      stopping.abort();
      await Promise.all([...running].map((worker) => stopped(worker, stopMsMax - lastMs)));
      await ground.end();
    });
    cleanup.push(stop);
    const urls = await Promise.all(Array.from({ length: count }, () => ready(start())));
    return { url: urls[0] ?? '', dataDir: config.dataDir, platformKeyFile, takenOver, stop };
  });
}

/** Starts one of these processes, and tells the first one; exits if that fails. */
export async function startOneOfSeveral(
  env: Environment,
  roles: readonly Role[],
): Promise<Service> {
  const tell = (message: FromProcess) =>
    new Promise<void>((told) => process.send?.(message, () => told()));
  try {
    const service = await startService(env, roles);
    await tell({ url: service.url });
    return service;
  } catch (error) {
    await tell({ failed: error instanceof Error ? error.message : String(error) });
    process.exit(1);
  }
}

/** The port to share: this once it must be free, or two services would share it unnoticed. */
async function freePort({ host, port }: Config): Promise<number> {
  const probe = createServer().listen(port, host);
  await emitted(probe, 'listening').catch((cause: unknown) => {
    throw new Error(notListening(host, port, cause), { cause });
  });
  const { port: free } = probe.address() as AddressInfo;
  await emitted(probe.close(), 'close');
  return free;
}

/** Its URL; rejects with its sentence if it does not start. */
function ready(worker: Worker): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  worker.on('message', (message: FromProcess) => {
    if ('url' in message) resolve(message.url);
    if ('failed' in message) reject(new Error(message.failed));
  });
  worker.once('error', reject);
  worker.once('exit', (code) => reject(new Error(`a process ended at its start (${code})`)));
  return promise;
}

/** Ends the process; resolves when it has ended. A frozen one is killed. */
export async function stopped(worker: Worker, graceMs: number): Promise<void> {
  if (worker.isDead()) return;
  // An 'error', such as a message that does not reach it any more, is not its end: `once` of
  // node:events would reject, and PostgreSQL stay behind.
  const end = new Promise((resolve) => worker.once('exit', resolve));
  worker.process.kill('SIGTERM');
  const overdue = setTimeout(() => worker.process.kill('SIGKILL'), graceMs);
  await end;
  clearTimeout(overdue);
}
