import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres, startService } from '@indelible/server';
import { startHost } from './src/host.ts';

export type Example = Awaited<ReturnType<typeof startExample>>;

/** Where both keep their data, and their ports: 0 for any that is free. */
type Options = Record<'hostPort' | 'servicePort', number> & { dataDir: string };

/**
 * Everything on one machine: a PostgreSQL for the product, the product,
 * and the audit log service with a PostgreSQL of its own. In production
 * these are three machines; nothing here depends on their being one.
 */
export async function startExample({ dataDir, hostPort, servicePort }: Options) {
  const [hostDir, serviceDir] = [join(dataDir, 'host'), join(dataDir, 'service')];
  mkdirSync(hostDir, { recursive: true });
  const postgres = await startEmbeddedPostgres({ dataDir: hostDir, log: () => {} });
  const undo: (() => Promise<void>)[] = [() => postgres.stop()];
  try {
    const cookieSecret = randomBytes(32).toString('base64url');
    const databaseUrl = process.env.HOST_DATABASE_URL ?? postgres.ownerUrl;
    const host = await startHost({ databaseUrl, port: hostPort, cookieSecret });
    undo.push(() => host.stop());
    const service = await startService({
      DATA_DIR: serviceDir,
      PORT: String(servicePort),
      FRAME_ANCESTORS: host.url, // the panel may stand in the product's own page
      WEBHOOK_ALLOW_PRIVATE: 'true', // the product listens on this machine
      LOG_LEVEL: 'warn',
    });
    undo.push(() => service.stop());
    const platformKey = readFileSync(service.platformKeyFile ?? '', 'utf8').trim();
    await host.connect({ url: service.url, platformKey });
    const stop = async () => {
      for (const each of undo.toReversed()) await each();
    };
    return { url: host.url, serviceUrl: service.url, platformKey, databaseUrl, host, stop };
  } catch (error) {
    for (const each of undo.toReversed()) await each().catch(() => {});
    throw error;
  }
}

if (import.meta.main) {
  const example = await startExample({
    dataDir: process.env.DATA_DIR ?? 'data/example',
    hostPort: Number(process.env.HOST_PORT ?? 4000),
    servicePort: Number(process.env.PORT ?? 3000),
  }).catch((error: NodeJS.ErrnoException & { port?: number }) => {
    const isTaken = error.code === 'EADDRINUSE';
    const taken = `port ${error.port} is taken: choose others with HOST_PORT and PORT`;
    console.error(`The example cannot start: ${isTaken ? taken : error.message}`);
    process.exit(1);
  });
  console.log(
    `\n  The contact centre   ${example.url}\n  Its audit log        ${example.serviceUrl}\n`,
  );
  console.log('  Open the first address, sign in as Ana, change a queue, and open Audit log.\n');
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      void example.stop().then(() => process.exit(0));
    });
  }
}
