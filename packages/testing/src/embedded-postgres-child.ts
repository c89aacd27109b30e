/**
 * Stands for the service in tests: starts the embedded PostgreSQL of the folder in its first
 * argument (programs from the package folder in its second) and reports one JSON value a line.
 * SIGTERM stops it.
 */
import { startEmbeddedPostgres } from '../../server/src/postgres/embedded-postgres.ts';

const [dataDir = '', binariesRoot] = process.argv.slice(2);

function report(message: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

try {
  const started = performance.now();
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: (line) => report({ log: line }),
    settings: { fsync: 'off', shared_buffers: '16MB' },
    ...(binariesRoot === undefined ? {} : { binariesRoot }),
  });
  const { ownerUrl, servingUrl, takenOver } = postgres;
  process.on('SIGTERM', () => {
    postgres.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
  report({ ownerUrl, servingUrl, takenOver, startMs: Math.round(performance.now() - started) });
} catch (error) {
  report({ error: error instanceof Error ? error.message : String(error) });
  process.exitCode = 1;
}
