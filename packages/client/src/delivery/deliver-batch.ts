import { type ErrorCode, errorCodes, uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { IndelibleClient } from '../client.ts';
import { errorOf } from '../error-of.ts';
import { IndelibleError, notTheService, UnreachableError } from '../http/errors.ts';
import { eventOf, tenantOf } from './ready-event.ts';

/** Sends batches: a client, or any object with its `recordBatchTexts`. */
export type BatchClient = Pick<IndelibleClient, 'recordBatchTexts'>;

/**
 * The same, whose calls the signal ends, and the time, with all attempts: otherwise a call without
 * an answer outlives its sender, and keeps the process running.
 */
export function endedBy(signal: AbortSignal, client: BatchClient, timeoutMs?: number): BatchClient {
  return {
    async recordBatchTexts(texts) {
      // Of this call alone: Node 20 keeps memory for each AbortSignal.any of a lasting signal.
      const call = new AbortController();
      const end = () => call.abort(signal.reason);
      const late = () =>
        call.abort(new UnreachableError(`the service has not answered within ${timeoutMs} ms`));
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs).unref();
      try {
        return await client.recordBatchTexts(texts, { signal: call.signal });
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** The outcome of one event; `again` must be sent again, in the order of its tenant. */
export type Outcome =
  | { status: 'stored' }
  /** `other`: a server before the service refuses this event, and lets others pass. */
  | { status: 'rejected'; error: IndelibleError; refusedBy: 'service' | 'other' }
  | { status: 'again' };

/**
 * Why events must be sent again. `away`: no answer, or a failing or busy service; it recovers by
 * itself. `refused`: an operator must correct the key, the address or a proxy.
 */
export interface Trouble {
  kind: 'away' | 'refused';
  /**
   * `tenants`: the logs of some tenants take none at the moment, or a proxy refuses one of their
   * events. `all`: the trouble concerns every event alike.
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
// By these the service refuses a whole batch whose content, perhaps one event, cannot be processed.
const unreadable: readonly number[] = [400, 413, 422];
// By these a proxy or firewall does. Others speak of the credential, the address or the service.
const unwelcome: readonly number[] = [...unreadable, 200, 403, 406];
/** Then everything is refused: each attempt costs as many calls. */
const suspectsMax = 32;
/** How often an event is refused again, in calls one after the other, before it is rejected. */
const confirmations = 3;

const isOfService = ({ code }: IndelibleError) => Object.hasOwn(errorCodes, code);

/** Whether an answer to several events may be the fault of one of them. */
function isAboutContent(error: Error): error is IndelibleError {
  if (!(error instanceof IndelibleError)) return false;
  return (isOfService(error) ? unreadable : unwelcome).includes(error.status);
}

/**
 * Sends a batch of JSON texts (the client may retry) and returns the outcome of each. Never throws.
 *
 * If the whole batch is refused for its content, it is halved until the event at fault is alone, so
 * it never blocks the others. Only the service may refuse an event for good at once. One that
 * another server refuses is rejected if it is refused again after a later event has passed that
 * server. If none passes, the credential or that server is at fault, and all are sent again.
 */
export async function deliverBatch(
  client: BatchClient,
  texts: readonly string[],
): Promise<Delivery> {
  const sorting = new Sorting(client, texts);
  // In the order of the events: none overtakes an earlier one of its tenant.
  let parts = [[...texts.keys()]];
  for (let part = parts.shift(); part && !sorting.isOver; part = parts.shift()) {
    const free = part.filter((at) => !sorting.isHeld(at));
    if (free.length === 0) continue;
    if (free.length > 1 && sorting.hasSuspects) {
      const rest = [free, ...parts].flat().filter((at) => !sorting.isHeld(at));
      const next = sorting.telling(rest);
      parts = [[next], rest.filter((at) => at !== next)];
      continue;
    }
    const refusal = await sorting.send(free);
    const middle = free.length >> 1;
    if (refusal === null) await sorting.confirm(free[0] ?? 0);
    else if (middle === 0) sorting.suspect(free[0] ?? 0, refusal);
    else parts.unshift(free.slice(0, middle), free.slice(middle));
  }
  return sorting.delivery();
}

/** What is known of a batch while its parts are sent. */
class Sorting {
  readonly #client: BatchClient;
  readonly #texts: readonly string[];
  readonly #outcomes: Outcome[];
  readonly #tenants: string[] = [];
  /** Tenants with an event to be sent again: later ones must not overtake it. */
  readonly #held = new Set<string>();
  /** Refused by another server, each alone, since the service has answered. */
  readonly #suspects = new Map<number, IndelibleError>();
  #hasAnswered = false;
  #trouble: Trouble | null = null;

  constructor(client: BatchClient, texts: readonly string[]) {
    this.#client = client;
    this.#texts = texts;
    this.#outcomes = texts.map(() => ({ status: 'again' }));
  }

  get hasSuspects(): boolean {
    return this.#suspects.size > 0;
  }

  get isOver(): boolean {
    return this.#trouble?.scope === 'all' || this.#suspects.size === suspectsMax;
  }

  isHeld(at: number): boolean {
    return this.#held.size > 0 && this.#held.has(this.#tenantOf(at));
  }

  /** The first event of a tenant without suspects, which may pass where theirs do not. */
  telling(indexes: readonly number[]): number {
    const suspected = this.#suspectedTenants();
    return indexes.find((at) => !suspected.has(this.#tenantOf(at))) ?? indexes[0] ?? 0;
  }

  /** Sends these events; the refusal if their content may be at fault, and they are undecided. */
  async send(indexes: readonly number[]): Promise<IndelibleError | null> {
    try {
      const texts = indexes.map((at) => this.#texts[at] ?? '');
      const results = await this.#client.recordBatchTexts(texts);
      if (results.length !== texts.length) throw notTheService(200);
      this.#hasAnswered = true;
      for (const [nth, at] of indexes.entries()) this.#settle(at, results[nth]);
      return null;
    } catch (cause) {
      const error = errorOf(cause);
      if (isAboutContent(error)) {
        if (indexes.length > 1 || !isOfService(error)) return error;
        this.#hasAnswered = true;
        this.#reject(indexes[0] ?? 0, error, 'service');
      } else this.#trouble = troubleOf(error);
      return null;
    }
  }

  /** Another server refuses this event alone. */
  suspect(at: number, error: IndelibleError): void {
    if (error.status !== 413) this.#suspects.set(at, error);
    // A proxy with a limit lets smaller events pass: those of other tenants.
    else this.#hold(at, { ...troubleOf(error), scope: 'tenants' });
  }

  /**
   * Sends each suspect again after this event has passed, and then this event, which the service
   * records once. What refused the suspect may have ended, or begin again, or come from one of
   * several servers that get the calls in turn.
   */
  async confirm(passed: number): Promise<void> {
    if (this.isOver) return;
    for (const [at, error] of this.#suspects) {
      for (let left = confirmations; left > 0 && this.#suspects.has(at); left -= 1) {
        if ((await this.send([at])) === null) this.#suspects.delete(at);
      }
      if (this.isOver) return;
      if (!this.#suspects.has(at)) continue;
      const refusal = await this.send([passed]);
      if (refusal !== null) this.#trouble = troubleOf(refusal);
      if (this.isOver) return;
      this.#reject(at, error, 'other');
      this.#suspects.delete(at);
    }
  }

  delivery(): Delivery {
    const [error] = this.#suspects.values();
    if (error !== undefined && this.#trouble?.scope !== 'all') {
      const tenants = this.#suspectedTenants();
      // The content of a few tenants must not hold up the others.
      const isOfFew = this.isOver && tenants.size < suspectsMax && !tenants.has('');
      const scope = this.#hasAnswered || isOfFew ? 'tenants' : 'all';
      this.#trouble = { kind: 'refused', scope, error };
    }
    return { outcomes: this.#outcomes, trouble: this.#trouble };
  }

  #settle(at: number, result: BatchResult | undefined): void {
    if (this.#outcomes[at]?.status !== 'again') return;
    if (result?.status !== 'rejected') {
      this.#outcomes[at] = { status: 'stored' };
      return;
    }
    const error = refusalOf(result);
    const isPassing = isPassingCode(error.code, this.#texts[at] ?? '');
    if (!isPassing && error.code !== 'unauthenticated') {
      this.#reject(at, error, 'service');
      return;
    }
    const kind = isPassing ? 'away' : 'refused';
    this.#hold(at, { kind, scope: isPassing ? 'tenants' : 'all', error });
  }

  #reject(at: number, error: IndelibleError, refusedBy: 'service' | 'other'): void {
    this.#outcomes[at] = { status: 'rejected', error, refusedBy };
  }

  #hold(at: number, trouble: Trouble): void {
    this.#held.add(this.#tenantOf(at));
    this.#trouble ??= trouble;
    if (trouble.scope === 'all') this.#trouble.scope = 'all';
  }

  #tenantOf(at: number): string {
    this.#tenants[at] ??= tenantOf(this.#texts[at] ?? '');
    return this.#tenants[at];
  }

  #suspectedTenants(): Set<string> {
    return new Set([...this.#suspects.keys()].map((at) => this.#tenantOf(at)));
  }
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
