import { atEnd } from './at-end.ts';
import { listen } from './http-receiver.ts';
import {
  answer,
  callOf,
  type ReceivedCall,
  type ReceiverAnswer,
  signedBy,
} from './webhook-receiver.ts';

/** A call that the host received, after its signature was verified. */
interface HostCall extends ReceivedCall {
  applied: boolean;
}

/** A host's answer: by its rules, or as a receiver's. */
export type HostAnswer =
  | { status: 'applied' }
  | { status: 'refused'; reason?: unknown }
  | { held: Promise<HostAnswer> }
  | Exclude<ReceiverAnswer, { held: unknown }>;

/**
 * A small host product: verifies calls as Standard Webhooks says, applies each restore once, and
 * answers from `answers`, repeating the last one.
 */
export async function restoringHost(now: () => number) {
  const state = {
    secret: '',
    calls: [] as HostCall[],
    /** Requests without a valid signature. */
    forged: 0,
    answers: [{ status: 'applied' }] as HostAnswer[],
    /** Applied states, by restore id. */
    applied: new Map<string, unknown>(),
    /** Runs before each answer. */
    before: async () => {},
  };
  const { url, close } = await listen(async (request) => {
    const call = { ...callOf(request), applied: false };
    const atMs = Number(call.headers['webhook-timestamp']) * 1_000;
    if (!signedBy(state.secret, call) || Math.abs(atMs - now()) > 300_000) {
      state.forged += 1;
      return { status: 401, body: 'who are you?' };
    }
    state.calls.push(call);
    const at = Math.min(state.calls.length, state.answers.length) - 1;
    await state.before();
    let given = state.answers[at] ?? { status: 'applied' };
    while ('held' in given) given = await given.held;
    if (!('status' in given)) return answer(given);
    if (given.status === 'applied') {
      const { id, fields, to, ...states } = call.body;
      call.applied = !state.applied.has(id);
      state.applied.set(id, fields ?? states[to]);
    }
    return { status: 200, body: given };
  });
  atEnd(close);
  return Object.assign(state, { url: `${url}/restore` });
}
