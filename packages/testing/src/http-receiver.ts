import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { OutboundCall } from '../../server/src/outbound/outbound.ts';
import { atEnd } from './at-end.ts';

/** A received request. */
export interface Received {
  method: string;
  /** Path without query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface HttpAnswer {
  status: number;
  /** Sent as JSON, a string unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
}

type Take = (request: Received) => HttpAnswer | null | Promise<HttpAnswer | null>;

/** A server on loopback that stores its requests, and answers by `take`, or hangs up (null). */
export async function listen(take: Take) {
  const requests: Received[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const url = new URL(request.url ?? '/', 'http://receiver');
    const received = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(parts).toString('utf8'),
    };
    requests.push(received);
    const answer = await take(received);
    if (answer === null) return void response.destroy();
    const { status, body = '', headers } = answer;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  });
  const close = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests, close };
}

/** Counts the connections that reach a port of loopback, and answers none. */
export async function countConnections() {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { sockets, port: (server.address() as AddressInfo).port };
}

/** Sends a format's request as any HTTP client would. */
export async function send({ method, url, headers, body }: OutboundCall) {
  const init = method === 'GET' ? { method, headers } : { method, headers, body };
  const answer = await fetch(url, init);
  return { status: answer.status, text: await answer.text() };
}
