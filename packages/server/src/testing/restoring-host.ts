import fastify, { type FastifyReply } from 'fastify';

/** A call that the host received, after its signature was verified. */
export interface HostCall {
  /** The header `webhook-id`. */
  id: string;
  raw: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies
  body: any;
  applied: boolean;
}

/** A host's answer: by its rules, with this status, body and headers, or blocked until released. */
export type HostAnswer =
  | { status: 'applied' }
  | { status: 'refused'; reason?: unknown }
  | { code: number; text?: string; headers?: Record<string, string> }
  | { hangUp: true }
  | { held: Promise<HostAnswer> };

/**
 * A small host product: verifies calls by standardwebhooks.com (implemented again, with WebCrypto),
 * applies each restore once, and answers from `answers`, repeating the last one.
 */
export async function restoringHost(now: () => number) {
  const host = fastify({ forceCloseConnections: true });
  const state = {
    secret: '',
    url: '',
    calls: [] as HostCall[],
    /** Requests without a valid signature. */
    forged: 0,
    answers: [{ status: 'applied' }] as HostAnswer[],
    /** Applied states, by restore id. */
    applied: new Map<string, unknown>(),
    /** Runs before each answer. */
    before: async () => {},
    close: () => host.close(),
  };
  host.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => {
    done(null, body);
  });
  host.post('/restore', async ({ headers, body: raw }, reply) => {
    const signed = await isSigned(headers, String(raw), state.secret, now());
    if (!signed) {
      state.forged += 1;
      return reply.code(401).send('who are you?');
    }
    const body = JSON.parse(String(raw));
    const call = { id: String(headers['webhook-id']), raw: String(raw), body, applied: false };
    state.calls.push(call);
    const at = Math.min(state.calls.length, state.answers.length) - 1;
    await state.before();
    return answer(reply, state.answers[at] ?? { status: 'applied' }, () => {
      call.applied = !state.applied.has(body.id);
      state.applied.set(body.id, body.fields ?? body[body.to]);
    });
  });
  state.url = `${await host.listen({ port: 0, host: '127.0.0.1' })}/restore`;
  return state;
}

async function answer(
  reply: FastifyReply,
  given: HostAnswer,
  apply: () => void,
): Promise<FastifyReply> {
  if ('held' in given) return answer(reply, await given.held, apply);
  if ('hangUp' in given) {
    reply.hijack();
    reply.raw.destroy();
    return reply;
  }
  if ('code' in given) {
    return reply
      .code(given.code)
      .headers(given.headers ?? {})
      .send(given.text ?? '');
  }
  if (given.status === 'applied') apply();
  return reply.send(given);
}

/**
 * Standard Webhooks: one of the space-separated `v1,<base64>` matches, and the time is within 5
 * minutes.
 */
async function isSigned(
  headers: Record<string, unknown>,
  body: string,
  secret: string,
  nowMs: number,
): Promise<boolean> {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': list } = headers;
  if (Math.abs(Number(timestamp) * 1_000 - nowMs) > 300_000) return false;
  const bytes = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
  const content = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const each of String(list).split(' ')) {
    const [version, signature = ''] = each.split(',');
    const mac = Buffer.from(signature, 'base64');
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, mac, content))) return true;
  }
  return false;
}
