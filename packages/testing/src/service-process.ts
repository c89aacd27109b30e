/**
 * The service as a separate process, for tests that kill it: starts it from the environment and
 * reports on standard output, in one JSON line, its address or error. SIGTERM and SIGINT stop it;
 * logs go to standard error.
 */
import { startService } from '../../server/src/main.ts';

const stopping = Promise.withResolvers<void>();
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stopping.resolve());

function say(facts: object): void {
  process.stdout.write(`${JSON.stringify(facts)}\n`);
}

try {
  const service = await startService(process.env);
  const { url, dataDir, platformKeyFile, takenOver } = service;
  say({ url, dataDir, platformKeyFile, takenOver });
  await stopping.promise;
  await service.stop();
  say({ stopped: true });
} catch (error) {
  say({ error: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}
