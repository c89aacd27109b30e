import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A PostgreSQL that is far away: passes on what it answers at `bytesPerMs` a connection, until it
 * is told to hurry. `url` names the server by its socket folder (`host`).
 */
export async function slowDatabase(url: string, bytesPerMs: number) {
  const folder = await mkdtemp(join(tmpdir(), 'indelible-slow-'));
  const upstream = join(new URL(url).searchParams.get('host') ?? '', '.s.PGSQL.5432');
  const sockets = new Set<Socket>();
  let rate = bytesPerMs;
  const server = createServer((client) => {
    const behind = createConnection(upstream);
    const destroy = () => {
      for (const socket of [client, behind]) socket.destroy();
    };
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on('error', destroy).on('close', destroy);
    }
    client.pipe(behind);
    behind.on('data', (chunk) => {
      client.write(chunk);
      behind.pause();
      setTimeout(() => behind.resume(), chunk.length / rate);
    });
  });
  server.listen(join(folder, '.s.PGSQL.5432'));
  await once(server, 'listening');
  const through = new URL(url);
  through.searchParams.set('host', folder);
  return {
    url: through.href,
    hurry() {
      rate = Number.POSITIVE_INFINITY;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}
