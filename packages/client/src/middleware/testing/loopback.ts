import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { listening, type Running } from '../../testing/listening.ts';

/* Clients and a proxy with different loopback addresses, like machines in a network. */

export interface LoopbackCall {
  /** Address of the caller. */
  from: string;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal;
}

export interface LoopbackAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers
  body: any;
}

/** Posts JSON from this loopback address. */
export async function callFrom(url: string, call: LoopbackCall): Promise<LoopbackAnswer> {
  const { from, headers = {}, body = {}, signal } = call;
  const sent = request(url, {
    method: 'POST',
    localAddress: from,
    headers: { 'content-type': 'application/json', 'user-agent': `agent of ${from}`, ...headers },
    ...(signal === undefined ? {} : { signal }),
  });
  sent.end(JSON.stringify(body));
  const [answer] = await once(sent, 'response');
  const text = Buffer.concat(await answer.toArray()).toString();
  const isJson = String(answer.headers['content-type']).includes('json');
  return { status: answer.statusCode, body: isJson ? JSON.parse(text) : text };
}

/**
 * A reverse proxy that appends the peer to `X-Forwarded-For`, in the form of a dual-stack socket.
 */
export async function startProxy(target: string, address: string): Promise<Running> {
  const server = createServer(async (incoming, outgoing) => {
    const seen = `::ffff:${incoming.socket.remoteAddress}`;
    const before = incoming.headers['x-forwarded-for'];
    const headers = {
      ...incoming.headers,
      'x-forwarded-for': before ? `${before}, ${seen}` : seen,
    };
    const options = { method: incoming.method ?? 'GET', headers, localAddress: address };
    const passed = request(target + incoming.url, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  return listening(server, address);
}
