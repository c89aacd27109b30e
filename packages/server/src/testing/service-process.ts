/**
 * The service as a process of its own, for tests that kill things: starts it from the environment
 * and says on standard output, in one JSON line, where it runs or why it does not. SIGTERM and
 * SIGINT, however often, stop it; logs go to standard error.
 */
import { startService } from '../main.ts';

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
