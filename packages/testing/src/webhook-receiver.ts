import { Webhook } from 'standardwebhooks';
import { type HttpAnswer, listen, type Received } from './http-receiver.ts';

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
  const calls: ReceivedCall[] = [];
  const state = {
    calls,
    answers: [{ code: 204 }] as ReceiverAnswer[],
    /** Runs before each answer. */
    before: async () => {},
    /** The events of all received messages, in order. */
    events: () => calls.flatMap(({ body }) => body?.data?.events ?? []),
  };
  const { url, close } = await listen(async (request) => {
    calls.push(callOf(request));
    const at = Math.min(calls.length, state.answers.length) - 1;
    await state.before();
    return answer(state.answers[at] ?? { code: 204 });
  });
  return Object.assign(state, { url: `${url}/hook`, close });
}

export function callOf({ method, path, headers: all, body: raw }: Received): ReceivedCall {
  const headers = all as Record<string, string>;
  return { id: headers['webhook-id'] ?? '', method, path, headers, raw, body: parsed(raw) };
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}

/** Null: hang up. */
export async function answer(given: ReceiverAnswer): Promise<HttpAnswer | null> {
  if ('held' in given) return answer(await given.held);
  if ('hangUp' in given) return null;
  const { code: status, text = '', headers = {} } = given;
  return { status, body: text, headers };
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
