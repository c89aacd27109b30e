import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { onceClosed } from './once-closed.ts';

/**
 * Closes the connection that is idle longest when one more than `max` is opened. A connection is
 * idle while it has no request with a valid credential, whatever bytes arrive on it. So a stranger
 * who holds all connections keeps no caller out. Add this after the hook that authenticates.
 */
export function boundConnections(http: FastifyInstance, max: number): void {
  let open = 0;
  /** The connections that may be closed, the longest idle first. */
  const idle = new Set<Socket>();
  const beginIdle = (socket: Socket) => {
    idle.delete(socket);
    if (!socket.destroyed) idle.add(socket);
  };
  http.server.on('connection', (socket: Socket) => {
    const [longest = socket] = idle;
    if (open >= max) longest.destroy();
    open++;
    socket.once('close', () => {
      open--;
      idle.delete(socket);
    });
    beginIdle(socket);
  });
  // Before its credential is known, a request counts as just begun.
  http.server.on('request', ({ socket }) => beginIdle(socket));
  http.addHook('onRequest', ({ principal, raw: { socket } }, reply, done) => {
    if (principal) {
      idle.delete(socket);
      onceClosed(reply.raw, () => beginIdle(socket));
    }
    done();
  });
}
