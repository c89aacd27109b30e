import { startService } from '../packages/server/src/main.ts';

// Started by bench/bench-service.ts: prints its URL when ready, then serves until SIGTERM.
const service = await startService(process.env);
process.stdout.write(`${service.url}\n`);
process.on('SIGTERM', () => void service.stop().then(() => process.exit(0)));
