import { type ErrorCode, errorCodes, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { IndelibleClient } from '../client.ts';
import { errorOf } from '../error-of.ts';
import { IndelibleError, UnreachableError, unexpected } from '../http/errors.ts';
import { eventOf, tenantOf } from './ready-event.ts';

/** Sends batches: a client, or any object with its `recordBatchTexts`. */
export type BatchClient = Pick<IndelibleClient, 'recordBatchTexts'>;

/** The same, whose calls the signal ends: otherwise one without an answer outlives its sender. */
export function endedBy(signal: AbortSignal, client: BatchClient): BatchClient {
  return {
    async recordBatchTexts(texts) {
      // Of this call alone: Node 20 keeps memory for each AbortSignal.any of a lasting signal.
      const call = new AbortController();
      const end = () => call.abort(signal.reason);
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      try {
        return await client.recordBatchTexts(texts, { signal: call.signal });
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** The outcome of one event; `again` must be sent again, in the order of its tenant. */
export type Outcome =
  | { status: 'stored' }
  | { status: 'rejected'; error: IndelibleError }
  | { status: 'again' };

/**
 * Why events must be sent again. `away`: no answer, or a failing or busy service; it recovers by
 * itself. `refused`: an operator must correct the key or the address.
 */
export interface Trouble {
  kind: 'away' | 'refused';
  /**
   * `tenants`: the logs of some tenants take none at the moment, or a proxy finds one of their
   * events too large. `all`: the trouble concerns every event alike.
   */
  scope: 'tenants' | 'all';
  error: Error;
}

/** Outcomes in the order sent; `trouble` is set exactly if one of them is `again`. */
export interface Delivery {
  outcomes: Outcome[];
  trouble: Trouble | null;
}

// Codes of one event in a batch that the service did not process completely.
const passing: readonly ErrorCode[] = ['unavailable', 'rate_limited', 'internal_error'];
/** How wrong a clock may be: an event further in the future is at fault itself. */
const clockErrorMsMax = 24 * 3_600_000;
// Codes of a whole batch whose content, perhaps one event, cannot be processed.
const unreadable: readonly number[] = [400, 413, 422];

/**
 * Sends a batch of JSON texts (the client may retry) and returns the outcome of each. If the
 * service refuses the whole batch for its content, the batch is halved until the bad event is
 * alone, so it never blocks the others. Never throws.
 */
export async function deliverBatch(
  client: BatchClient,
  texts: readonly string[],
): Promise<Delivery> {
  try {
    return deliveryOf(await client.recordBatchTexts(texts), texts);
  } catch (error) {
    const isInside = error instanceof IndelibleError && unreadable.includes(error.status);
    if (isInside && texts.length > 1) return inHalves(client, texts);
    // Only the service may refuse an event for good: another server says nothing about it.
    if (isInside && Object.hasOwn(errorCodes, error.code)) {
      return { outcomes: [{ status: 'rejected', error }], trouble: null };
    }
    const trouble = troubleOf(error);
    // A proxy lets smaller events pass: those of other tenants.
    if (isInside && error.status === 413) trouble.scope = 'tenants';
    return allAgain(texts.length, trouble);
  }
}

async function inHalves(client: BatchClient, texts: readonly string[]): Promise<Delivery> {
  const middle = texts.length >> 1;
  const [head, tail] = [texts.slice(0, middle), texts.slice(middle)];
  const first = await deliverBatch(client, head);
  // Later events must not overtake those to be sent again, of one tenant or of all.
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

function deliveryOf(results: readonly BatchResult[], texts: readonly string[]): Delivery {
  const sent = texts.length;
  if (results.length !== sent) {
    const error = unexpected(200, `${results.length} results came for ${sent} events`);
    return allAgain(sent, { kind: 'refused', scope: 'all', error });
  }
  let trouble: Trouble | null = null;
  const outcomes = results.map((result, at): Outcome => {
    if (result.status !== 'rejected') return { status: 'stored' };
    const error = refusalOf(result);
    const isPassing = isPassingCode(error.code, texts[at] ?? '');
    if (!isPassing && error.code !== 'unauthenticated') return { status: 'rejected', error };
    trouble ??= { kind: isPassing ? 'away' : 'refused', scope: 'tenants', error };
    if (!isPassing) trouble.scope = 'all';
    return { status: 'again' };
  });
  return { outcomes, trouble };
}

/**
 * The clocks of producer and service may differ. The service accepts the event once its clock has
 * reached the timestamp, so the event must not be dropped.
 */
function isPassingCode(code: string, text: string): boolean {
  if (code !== 'timestamp_in_future') return (passing as readonly string[]).includes(code);
  const uuid = uuidFromEventId(String(eventOf(text).id));
  return uuid !== null && uuidTimeMs(uuid) <= Date.now() + clockErrorMsMax;
}

function refusalOf({ error }: BatchResult): IndelibleError {
  const { code = 'validation_failed', detail = 'refused', errors = [] } = error ?? {};
  // A newer service may have codes that this client does not know.
  const status = Object.hasOwn(errorCodes, code) ? errorCodes[code].status : 422;
  return new IndelibleError({ status, code, detail, requestId: null, errors: [...errors] });
}

const awayStatuses: readonly number[] = [408, 425, 429];

function troubleOf(cause: unknown): Trouble {
  const error = errorOf(cause);
  const isAway =
    error instanceof UnreachableError ||
    (error instanceof IndelibleError &&
      (error.status >= 500 || awayStatuses.includes(error.status)));
  return { kind: isAway ? 'away' : 'refused', scope: 'all', error };
}
