import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEnd } from '../../../server/src/testing/at-end.ts';

/** One answer of a scripted service; default: 200 and `{}`. */
export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Closes the connection instead of answering. */
  hangUp?: boolean;
  /** Reads the request and never answers. */
  silent?: boolean;
}

export interface Received {
  line: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/**
 * An HTTP server that gives these answers in order and then repeats the last one: for failures that
 * a real service rarely shows.
 */
export async function scriptedService(answers: readonly Answer[]) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
    const answer = answers[Math.min(received.length, answers.length) - 1];
    if (answer === undefined || answer.hangUp) {
      response.destroy();
      return;
    }
    if (answer.silent) return;
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => void server.close().closeAllConnections();
  atEnd(close);
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
