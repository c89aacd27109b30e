import { createServer, type Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A site on loopback until the tests of the file are over, and its origin. */
export async function openSite() {
  const site = createServer();
  return { site, url: `http://${await listening(site)}` };
}

/** Listens on a port of its own until the tests of the file are over; gives back host and port. */
export async function listening(server: Server | TlsServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => server.close().closeAllConnections());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
