import { type ErrorCode, errorCodes } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { IndelibleClient } from '../client.ts';
import { IndelibleError, UnreachableError } from '../http/errors.ts';
import { tenantOf } from './event-text.ts';

/** What carries batches: a client, or anything with its `recordBatchTexts`. */
export type BatchClient = Pick<IndelibleClient, 'recordBatchTexts'>;

/** What became of one event; `again` has to be sent again, in the order of its tenant. */
export type Outcome =
  | { status: 'stored' }
  | { status: 'rejected'; error: IndelibleError }
  | { status: 'again' };

/**
 * Why events have to be sent again. `away`: no answer, too busy, failing; it comes back by itself.
 * `refused`: somebody has to act, because the key, the address or what answers there is wrong.
 */
export interface Trouble {
  kind: 'away' | 'refused';
  /**
   * `tenants`: the service is there and has judged every event; the
   * logs of those that have to be sent again take nothing just now.
   * `all`: there is no more to be said of one event than of any other.
   */
  scope: 'tenants' | 'all';
  error: Error;
}

/** Outcomes in the order sent; `trouble` is there exactly when one of them is `again`. */
export interface Delivery {
  outcomes: Outcome[];
  trouble: Trouble | null;
}

// Of one event in a batch: it was not looked at, or not to its end.
const passing: readonly ErrorCode[] = ['unavailable', 'rate_limited', 'internal_error'];
// Of a whole batch: something in it, and perhaps one event alone, is what the service cannot take.
const unreadable: readonly number[] = [400, 413, 422];

/**
 * Sends a batch of JSON texts once (the client repeats as it is set to) and says what became of
 * each. A batch that is refused as a whole for what it holds is halved until the event at fault is
 * alone, so that one never blocks the others. Never throws.
 */
export async function deliverBatch(
  client: BatchClient,
  texts: readonly string[],
): Promise<Delivery> {
  try {
    return deliveryOf(await client.recordBatchTexts(texts), texts.length);
  } catch (error) {
    const isInside = error instanceof IndelibleError && unreadable.includes(error.status);
    if (!isInside) return allAgain(texts.length, troubleOf(error));
    if (texts.length === 1) return { outcomes: [{ status: 'rejected', error }], trouble: null };
    return inHalves(client, texts);
  }
}

async function inHalves(client: BatchClient, texts: readonly string[]): Promise<Delivery> {
  const middle = texts.length >> 1;
  const [head, tail] = [texts.slice(0, middle), texts.slice(middle)];
  const first = await deliverBatch(client, head);
  // What comes later must not overtake what has to be sent again, be it of one tenant or of all.
  if (first.trouble?.scope === 'all') return joined(first, allAgain(tail.length, first.trouble));
  const held = new Set(
    head.filter((_, at) => first.outcomes[at]?.status === 'again').map(tenantOf),
  );
  const isFree = tail.map((text) => held.size === 0 || !held.has(tenantOf(text)));
  const free = tail.filter((_, at) => isFree[at]);
  const { outcomes, trouble } =
    free.length > 0 ? await deliverBatch(client, free) : { outcomes: [], trouble: null };
  const judged = outcomes.values();
  const second = isFree.map((each): Outcome => (each && judged.next().value) || again);
  return joined(first, { outcomes: second, trouble });
}

const again: Outcome = { status: 'again' };

function joined(first: Delivery, second: Delivery): Delivery {
  const troubles = [first.trouble, second.trouble].filter((trouble) => trouble !== null);
  return {
    outcomes: [...first.outcomes, ...second.outcomes],
    trouble: troubles.find(({ scope }) => scope === 'all') ?? troubles[0] ?? null,
  };
}

function allAgain(count: number, trouble: Trouble): Delivery {
  return { outcomes: Array<Outcome>(count).fill(again), trouble };
}

function deliveryOf(results: readonly BatchResult[], sent: number): Delivery {
  if (results.length !== sent) {
    const detail = `${results.length} results came for ${sent} events`;
    const facts = { status: 200, code: 'unexpected_answer', detail, requestId: null } as const;
    return allAgain(sent, { kind: 'refused', scope: 'all', error: new IndelibleError(facts) });
  }
  let trouble: Trouble | null = null;
  const outcomes = results.map((result): Outcome => {
    if (result.status !== 'rejected') return { status: 'stored' };
    const error = errorOf(result);
    const isPassing = (passing as readonly string[]).includes(error.code);
    if (!isPassing && error.code !== 'unauthenticated') return { status: 'rejected', error };
    trouble ??= { kind: isPassing ? 'away' : 'refused', scope: 'tenants', error };
    if (!isPassing) trouble.scope = 'all';
    return { status: 'again' };
  });
  return { outcomes, trouble };
}

function errorOf({ error }: BatchResult): IndelibleError {
  const { code = 'validation_failed', detail = 'refused', errors = [] } = error ?? {};
  // A service that is newer than this client may have codes that it does not know.
  const status = Object.hasOwn(errorCodes, code) ? errorCodes[code].status : 422;
  return new IndelibleError({ status, code, detail, requestId: null, errors: [...errors] });
}

const awayStatuses: readonly number[] = [408, 425, 429];

function troubleOf(cause: unknown): Trouble {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  const isAway =
    error instanceof UnreachableError ||
    (error instanceof IndelibleError &&
      (error.status >= 500 || awayStatuses.includes(error.status)));
  return { kind: isAway ? 'away' : 'refused', scope: 'all', error };
}
