import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Gate {
  url: string;
  open(): void;
  close(): void;
}

/** A proxy to the service that can be opened and closed; initially closed. */
export async function gateTo(url: string): Promise<Gate> {
  let isOpen = false;
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    inbound.on('error', () => inbound.destroy());
    if (!isOpen) return inbound.destroy();
    const outbound = connect(Number(new URL(url).port), '127.0.0.1');
    outbound.on('error', () => outbound.destroy());
    sockets.add(inbound).add(outbound);
    return inbound.pipe(outbound).pipe(inbound);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    isOpen = false;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    close();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => {
      isOpen = true;
    },
    close,
  };
}
