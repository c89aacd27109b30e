import { type ErrorCode, type FieldProblem, retryAfterMs } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { OutgoingEvent } from '../event/outgoing-event.ts';

interface ProblemFacts {
  status: number;
  /**
   * A code of the service, or `unexpected_answer` if another program answered. A newer service may
   * have codes that this client does not know.
   */
  code: ErrorCode | 'unexpected_answer';
  detail: string;
  requestId: string | null;
  errors?: FieldProblem[];
  retryAfterMs?: number;
}

/** The service refused or failed; `code` is stable, `errors` names every wrong field. */
export class IndelibleError extends Error {
  override readonly name = 'IndelibleError';
  readonly status: number;
  readonly code: ErrorCode | 'unexpected_answer';
  readonly requestId: string | null;
  readonly errors: readonly FieldProblem[];
  /** How long the service asks to wait before the next call; 0 if it does not. */
  readonly retryAfterMs: number;

  constructor(facts: ProblemFacts) {
    const { status, code, detail, requestId, errors = [], retryAfterMs = 0 } = facts;
    super(detail);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.errors = errors;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * No answer: a network failure, a timeout, or a gateway that reports one. The call may have taken
 * effect.
 */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** A batch of several calls failed after the first call. */
export class PartialBatchError extends Error {
  override readonly name = 'PartialBatchError';
  /** The outcomes so far, one for each event. */
  readonly results: readonly BatchResult[];
  /** The remaining events with their ids: recording them again records nothing twice. */
  readonly unsettled: readonly OutgoingEvent[];

  /** `cause`: the error of the call that failed. */
  constructor(
    results: readonly BatchResult[],
    unsettled: readonly OutgoingEvent[],
    cause: unknown,
  ) {
    super(`${results.length} events have a result, ${unsettled.length} do not`, { cause });
    this.results = results;
    this.unsettled = unsettled;
  }
}

// Another server may answer with megabytes, and the error is logged and kept in files.
const codeForm = /^[a-z_]{1,64}$/;
const detailCharactersMax = 4_000;
const requestIdCharactersMax = 64;

/** The error of an unsuccessful answer; `unexpected_answer` unless it is a problem document. */
export function errorOfAnswer({ status, headers }: Response, body: unknown): IndelibleError {
  const facts = {
    requestId: headers.get('x-request-id')?.slice(0, requestIdCharactersMax) ?? null,
    retryAfterMs: retryAfterMs(headers.get('retry-after'), Date.now()),
  };
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<ProblemFacts>;
  const { code, detail = code, errors } = problem;
  if (typeof code !== 'string' || !codeForm.test(code)) return notTheService(status, facts);
  return new IndelibleError({
    ...facts,
    status,
    code,
    detail: String(detail).slice(0, detailCharactersMax),
    errors: Array.isArray(errors) ? errors : [],
  });
}

/** An answer of another program, such as a sign-in page or a proxy. */
export function notTheService(status: number, facts?: Partial<ProblemFacts>): IndelibleError {
  const detail = `another server than the audit log service answered with status ${status}`;
  return unexpected(status, `${detail}: ${advice(status)}`, facts);
}

const advice = (status: number) =>
  status === 413
    ? 'let the proxy in front of the service accept bodies of 8 MiB'
    : 'check the address of the service and the proxies in front of it';

/** An answer that does not match the request. */
export const unexpected = (status: number, detail: string, facts?: Partial<ProblemFacts>) =>
  new IndelibleError({ status, code: 'unexpected_answer', detail, requestId: null, ...facts });

const firstMs = 200;
const longestMs = 10_000;

/** If the service asks for a longer pause, the call fails instead. */
export const retryAfterMaxMs = 60_000;

/** How long the service asks to wait. */
export const askedMs = (error: Error) =>
  error instanceof IndelibleError ? Math.min(error.retryAfterMs, retryAfterMaxMs) : 0;

/**
 * Milliseconds before attempt `attempt + 1`, with `attempt` from 1: exponential with full jitter
 * (`random` from 0 to 1), so that many clients do not retry at once, but never earlier than the
 * service asked for.
 */
export function backoffMs(attempt: number, random: number, retryAfterMs: number): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  return retryAfterMs + Math.round(ceiling * random);
}
