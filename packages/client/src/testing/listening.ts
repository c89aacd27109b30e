import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Running {
  url: string;
  close(): Promise<void>;
}

/** The server, once it listens: on a port of its own, unless it has one. */
export async function listening(server: Server, host = '127.0.0.1'): Promise<Running> {
  if (!server.listening) await once(server.listen(0, host), 'listening');
  const { address, port } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
