import { createServer, type IncomingMessage } from 'node:http';
import { atEnd } from '@indelible/testing/at-end';
import { listening } from './listening.ts';

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
  const { url, close } = await listening(server);
  atEnd(close);
  return { received, url, close };
}
