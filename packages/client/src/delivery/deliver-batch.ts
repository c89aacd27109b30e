import { type ErrorCode, errorCodes } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { IndelibleClient } from '../client.ts';
import { IndelibleError, UnreachableError } from '../errors.ts';

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
 * Sends a batch of JSON texts once (the client repeats as it is set to) and says what became of each.
 * A batch that is refused as a whole for what it holds is halved until the event at fault is alone, so
 * that one never blocks the others. Never throws.
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
  const first = await deliverBatch(client, texts.slice(0, middle));
  // What comes later must not overtake what has to be sent again.
  const rest = texts.slice(middle);
  const second = first.trouble
    ? allAgain(rest.length, first.trouble)
    : await deliverBatch(client, rest);
  return {
    outcomes: [...first.outcomes, ...second.outcomes],
    trouble: first.trouble ?? second.trouble,
  };
}

function allAgain(count: number, trouble: Trouble): Delivery {
  return { outcomes: Array.from({ length: count }, () => ({ status: 'again' })), trouble };
}

function deliveryOf(results: readonly BatchResult[], sent: number): Delivery {
  if (results.length !== sent) {
    const detail = `${results.length} results came for ${sent} events`;
    const facts = { status: 200, code: 'unexpected_answer', detail, requestId: null } as const;
    return allAgain(sent, { kind: 'refused', error: new IndelibleError(facts) });
  }
  let trouble: Trouble | null = null;
  const outcomes = results.map((result): Outcome => {
    if (result.status !== 'rejected') return { status: 'stored' };
    const error = errorOf(result);
    const isPassing = (passing as readonly string[]).includes(error.code);
    if (!isPassing && error.code !== 'unauthenticated') return { status: 'rejected', error };
    trouble ??= { kind: isPassing ? 'away' : 'refused', error };
    return { status: 'again' };
  });
  return { outcomes, trouble };
}

function errorOf({ error }: BatchResult): IndelibleError {
  const { code = 'validation_failed', detail = 'refused', errors = [] } = error ?? {};
  const { status } = errorCodes[code];
  return new IndelibleError({ status, code, detail, requestId: null, errors: [...errors] });
}

const awayStatuses: readonly number[] = [408, 425, 429];

function troubleOf(cause: unknown): Trouble {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  if (error instanceof UnreachableError) return { kind: 'away', error };
  if (!(error instanceof IndelibleError)) return { kind: 'refused', error };
  const isAway = error.status >= 500 || awayStatuses.includes(error.status);
  return { kind: isAway ? 'away' : 'refused', error };
}
