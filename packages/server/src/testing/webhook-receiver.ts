import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A received call. */
export interface ReceivedCall {
  /** The header `webhook-id`, '' without one. */
  id: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  raw: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies
  body: any;
}

/** A receiver's answer: this status and text, none, or blocked until released. */
export type ReceiverAnswer =
  | { code: number; text?: string; headers?: Record<string, string> }
  | { hangUp: true }
  | { held: Promise<ReceiverAnswer> };

export type Receiver = Awaited<ReturnType<typeof webhookReceiver>>;

/**
 * A real HTTP receiver on loopback that stores its calls and answers from `answers`, repeating the
 * last one.
 */
export async function webhookReceiver() {
  const state = {
    url: '',
    calls: [] as ReceivedCall[],
    answers: [{ code: 204 }] as ReceiverAnswer[],
    /** Runs before each answer. */
    before: async () => {},
    /** The events of all received messages, in order. */
    events: () => state.calls.flatMap(({ body }) => body?.data?.events ?? []),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer(async (request, response) => {
    state.calls.push(await received(request));
    const at = Math.min(state.calls.length, state.answers.length) - 1;
    await state.before();
    await answer(response, state.answers[at] ?? { code: 204 });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return state;
}

async function received(request: IncomingMessage): Promise<ReceivedCall> {
  let raw = '';
  for await (const chunk of request.setEncoding('utf8')) raw += chunk;
  const { method = '', url: path = '' } = request;
  const headers = request.headers as Record<string, string>;
  return { id: headers['webhook-id'] ?? '', method, path, headers, raw, body: parsed(raw) };
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}

async function answer(response: ServerResponse, given: ReceiverAnswer): Promise<void> {
  if ('held' in given) return answer(response, await given.held);
  if ('hangUp' in given) return void response.destroy();
  response.writeHead(given.code, given.headers).end(given.text ?? '');
}

/**
 * Whether the call has a valid signature by this secret, ignoring its time, by the library of
 * Standard Webhooks.
 */
export function signedBy(secret: string, { id, headers, raw }: ReceivedCall): boolean {
  const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
  const expected = new Webhook(secret).sign(id, at, raw);
  return (headers['webhook-signature'] ?? '').split(' ').includes(expected);
}
