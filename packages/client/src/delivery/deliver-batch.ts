import { setTimeout as pause } from 'node:timers/promises';
import { type ErrorCode, errorCodes, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { IndelibleClient } from '../client.ts';
import { errorOf } from '../error-of.ts';
import { IndelibleError, notTheService, UnreachableError, unexpected } from '../http/errors.ts';
import { eventOf, tenantOf } from './ready-event.ts';

/** Sends batches: a client, or any object with its `recordBatchTexts`. */
export type BatchClient = Pick<IndelibleClient, 'recordBatchTexts'>;

/**
 * The same, whose calls the signal ends: otherwise a call without an answer outlives its sender,
 * and keeps the process running. Each is one attempt, because its sender repeats it.
 */
export function endedBy(signal: AbortSignal, client: BatchClient): BatchClient {
  return {
    async recordBatchTexts(texts) {
      signal.throwIfAborted();
      // Of this call alone: Node 20 keeps memory for each AbortSignal.any of a lasting signal.
      const call = new AbortController();
      const end = () => call.abort(signal.reason);
      signal.addEventListener('abort', end);
      try {
        return await client.recordBatchTexts(texts, { signal: call.signal, attempts: 1 });
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** The outcome of one event; `again` must be sent again, in the order of its tenant. */
export type Outcome =
  | { status: 'stored' }
  /** `other`: not the service refuses this event, and others pass before and after it. */
  | { status: 'rejected'; error: IndelibleError; refusedBy: 'service' | 'other' }
  | { status: 'again' };

/**
 * Why events must be sent again. `away`: no answer, or a failing or busy service; it recovers by
 * itself. `refused`: an operator must correct the key, the address or a proxy.
 */
export interface Trouble {
  kind: 'away' | 'refused';
  /** `tenants`: of those with events to be sent again; others may pass. `all`: of every event. */
  scope: 'tenants' | 'all';
  error: Error;
}

/** Outcomes in the order sent; `trouble` is set exactly if one of them is `again`. */
export interface Delivery {
  outcomes: Outcome[];
  trouble: Trouble | null;
}

/**
 * What a sender knows of the way to the service: the text of an event that passed. Sent again, it
 * is recorded once, and tells an outage from an event that a firewall refuses.
 */
export interface Known {
  passed: string | null;
  /** Between calls that seek an event at fault, because a gateway may limit their rate. */
  pauseMs: number;
  /** Texts that have failed alone since an event passed. */
  readonly tried: Set<string>;
}

export const nothingKnown = (): Known => ({ passed: null, pauseMs: 0, tried: new Set() });

/**
 * How many calls decide that a firewall refuses an event. A coin says for each whether it sends
 * this event, which must fail, or the known one, which must pass. An outage cannot tell them apart:
 * however its failures come and go, they agree with all tosses once in four billion times. While a
 * gateway fails at every second call, a sender may decide thousands of times in an hour.
 */
const tosses = 32;
/** How many others are tried as long as no event is known to pass. */
const triesMax = 8;
/** How many tried events are remembered; bounds the memory. */
const triedMax = 1_000;
const pauseMsMax = 2_000;
/** How wrong a clock may be: an event further in the future is at fault itself. */
const clockErrorMsMax = 24 * 3_600_000;

/**
 * Sends a batch of JSON texts and returns the outcome of each. Never throws.
 *
 * If the whole batch is refused for its content, or perhaps for its content, it is halved until the
 * event at fault is alone, so it never blocks the others. The service itself may refuse this one
 * for good. For any other failure, of whatever status or a lost connection, it must be certain that
 * others pass: else it is an outage, and all are sent again. After a timeout it is sent again too.
 */
export async function deliverBatch(
  client: BatchClient,
  texts: readonly string[],
  known: Known = nothingKnown(),
): Promise<Delivery> {
  const sorting = new Sorting(client, texts, known);
  await sorting.send(sorting.all);
  return sorting.delivery;
}

/** What is decided of a batch while its parts are sent. */
class Sorting {
  readonly all: readonly number[];
  readonly delivery: Delivery;
  readonly #client: BatchClient;
  readonly #texts: readonly string[];
  readonly #known: Known;
  /** Tenants with an event to be sent again: later ones must not overtake it. */
  readonly #held = new Set<string>();

  constructor(client: BatchClient, texts: readonly string[], known: Known) {
    this.all = [...texts.keys()];
    this.#client = client;
    this.#texts = texts;
    this.#known = known;
    this.delivery = { outcomes: texts.map(() => ({ status: 'again' })), trouble: null };
  }

  /** In the order of the events: none overtakes an earlier one of its tenant. */
  async send(indexes: readonly number[]): Promise<void> {
    const part = indexes.filter((at) => this.#isDue(at));
    const error = part.length > 0 ? await this.#call(part) : null;
    if (error !== null) await this.#judge(part, error);
  }

  async #judge(part: readonly number[], error: Error): Promise<void> {
    const subject = subjectOf(error);
    const [at = 0] = part;
    const middle = part.length >> 1;
    const isUnclear = subject === 'unclear' || subject === 'late';
    if (subject === 'tenants') this.#hold(part, error, 'tenants');
    else if (subject === 'all') this.#hold(this.all, error, 'all');
    else if (isUnclear && !(await this.#isOpen())) this.#hold(this.all, error, 'all');
    else if (middle > 0) {
      await this.send(part.slice(0, middle));
      await this.send(part.slice(middle));
    } else if (subject === 'content') this.#reject(at, error, 'service');
    else if (subject === 'late') this.#hold(part, error, 'tenants');
    else if (await this.#isAtFault(at, error)) this.#reject(at, error, 'other');
  }

  /** Whether others pass where this event alone has failed. */
  async #isAtFault(at: number, error: Error): Promise<boolean> {
    const { tried, passed } = this.#known;
    const text = this.#texts[at] ?? '';
    // Without a known event they show only that the failure lasts. No other event may overtake this
    // one before that; once is enough.
    if (passed !== null || !tried.has(text)) await this.#toss(at, error);
    tried.add(text);
    for (let left = triesMax; left > 0 && this.#isUnknown(at); left -= 1) await this.#tryNext();
    if (this.#isUnknown(at)) this.#hold(this.all, error, 'tenants');
    if (passed === null) await this.#toss(at, error);
    return this.#isDue(at);
  }

  async #toss(at: number, error: Error): Promise<void> {
    for (let left = tosses; left > 0 && this.#isDue(at); left -= 1) {
      if (Math.random() < 0.5) await this.#try(at);
      else if (!(await this.#isOpen())) this.#hold(this.all, error, 'all');
    }
  }

  #isUnknown(at: number): boolean {
    return this.#known.passed === null && this.#isDue(at);
  }

  /** In order, and further at each attempt: refused events must not hide one that passes. */
  async #tryNext(): Promise<void> {
    const { tried } = this.#known;
    const next = this.all.find((at) => this.#isDue(at) && !tried.has(this.#texts[at] ?? ''));
    if (next === undefined || tried.size > triedMax) tried.clear();
    if (next === undefined) return;
    tried.add(this.#texts[next] ?? '');
    await this.#try(next);
  }

  /** Sends it alone; a failure that may be about the content decides nothing. */
  async #try(at: number): Promise<void> {
    const error = await this.#call([at]);
    if (error !== null && subjectOf(error) !== 'unclear') await this.#judge([at], error);
  }

  /** Whether the known event passes; while none is known, whether the service answers at all. */
  async #isOpen(): Promise<boolean> {
    const { passed, pauseMs } = this.#known;
    const error = await this.#record(passed === null ? [] : [passed]).catch(errorOf);
    const isOpen = !(error instanceof Error) || subjectOf(error) === 'content';
    if (isOpen) {
      if (pauseMs > 0) await pause(pauseMs);
    } else {
      // A firewall may refuse the event since, or a gateway so many calls at once.
      this.#known.passed = null;
      this.#known.pauseMs = Math.min(pauseMsMax, 2 * pauseMs + 100);
    }
    return isOpen;
  }

  /** Sends these events; the error if they are undecided. */
  async #call(part: readonly number[]): Promise<Error | null> {
    try {
      const results = await this.#record(part.map((at) => this.#texts[at] ?? ''));
      for (const [nth, at] of part.entries()) this.#settle(at, results[nth]);
      if (part.length > 1) this.#known.pauseMs = 0;
      return null;
    } catch (cause) {
      return errorOf(cause);
    }
  }

  async #record(texts: readonly string[]): Promise<BatchResult[]> {
    const results = await this.#client.recordBatchTexts(texts);
    if (results.length !== texts.length) throw notTheService(200);
    return results;
  }

  #settle(at: number, result: BatchResult | undefined): void {
    const text = this.#texts[at] ?? '';
    if (result?.status !== 'rejected') {
      this.delivery.outcomes[at] = { status: 'stored' };
      this.#known.passed = text;
      this.#known.tried.clear();
      return;
    }
    const error = refusalOf(result);
    if (error.code === 'unauthenticated') this.#hold(this.all, error, 'all');
    else if (isPassingCode(error.code, text)) this.#hold([at], error, 'tenants');
    else this.#reject(at, error, 'service');
  }

  #reject(at: number, cause: Error, refusedBy: 'service' | 'other'): void {
    const error = cause instanceof IndelibleError ? cause : unexpected(0, cause.message);
    this.delivery.outcomes[at] = { status: 'rejected', error, refusedBy };
  }

  #hold(part: readonly number[], error: Error, scope: Trouble['scope']): void {
    for (const at of part) this.#held.add(tenantOf(this.#texts[at] ?? ''));
    if (scope === 'all' || this.delivery.trouble === null)
      this.delivery.trouble = troubleOf(error, scope);
  }

  #isDue(at: number): boolean {
    if (this.delivery.outcomes[at]?.status !== 'again') return false;
    return this.#held.size === 0 || !this.#held.has(tenantOf(this.#texts[at] ?? ''));
  }
}

/**
 * What the failure of a whole call is about. `unclear`: no answer, one of another server or a crash
 * of the service may be an outage, or the answer to the content of an event. `late`: none in time;
 * perhaps the log of a tenant is busy, so it condemns no event.
 */
function subjectOf(error: Error): 'content' | 'tenants' | 'all' | 'unclear' | 'late' {
  if (error instanceof UnreachableError && isLate(error)) return 'late';
  if (!(error instanceof IndelibleError)) return 'unclear';
  const { code, status } = error;
  if (!Object.hasOwn(errorCodes, code) || code === 'internal_error') return 'unclear';
  if (status === 400 || status === 413 || status === 422) return 'content';
  // Of a batch in which no event could be stored: the logs of other tenants may take theirs.
  return code === 'unavailable' ? 'tenants' : 'all';
}

/** A timeout, or a gateway's. */
function isLate({ cause }: UnreachableError): boolean {
  const { name, status } = (cause ?? {}) as { name?: string; status?: number };
  return name === 'TimeoutError' || status === 504;
}

// Codes of one event in a batch that the service did not process completely.
const passing: readonly ErrorCode[] = ['unavailable', 'rate_limited', 'internal_error'];

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

function troubleOf(error: Error, scope: Trouble['scope']): Trouble {
  const { status = 500, code } = error as Partial<IndelibleError>;
  const isAway = status >= 500 || awayStatuses.includes(status) || code === 'timestamp_in_future';
  return { kind: isAway ? 'away' : 'refused', scope, error };
}
