import type { ErrorCode, FieldProblem } from '@indelible/protocol';
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
}

/** The service refused or failed; `code` is stable, `errors` names every wrong field. */
export class IndelibleError extends Error {
  override readonly name = 'IndelibleError';
  readonly status: number;
  readonly code: ErrorCode | 'unexpected_answer';
  readonly requestId: string | null;
  readonly errors: readonly FieldProblem[];

  constructor({ status, code, detail, requestId, errors = [] }: ProblemFacts) {
    super(detail);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.errors = errors;
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

const codeForm = /^[a-z]+(_[a-z]+)*$/;

/** The error of an unsuccessful answer; `unexpected_answer` unless it is a problem document. */
export function errorOfAnswer(
  status: number,
  body: unknown,
  requestId: string | null,
): IndelibleError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<ProblemFacts>;
  if (typeof problem.code !== 'string' || !codeForm.test(problem.code)) {
    return notTheService(status, requestId);
  }
  return new IndelibleError({
    status,
    code: problem.code,
    detail: typeof problem.detail === 'string' ? problem.detail : problem.code,
    requestId,
    errors: Array.isArray(problem.errors) ? problem.errors : [],
  });
}

/** An answer of another program, such as a sign-in page or a proxy. */
export function notTheService(status: number, requestId: string | null = null): IndelibleError {
  return unexpected(
    status,
    `another server than the audit log service answered with status ${status}: ${advice(status)}`,
    requestId,
  );
}

const advice = (status: number) =>
  status === 413
    ? 'let the proxy in front of the service accept bodies of 8 MiB'
    : 'check the address of the service and the proxies in front of it';

/** An answer that does not match the request. */
export function unexpected(
  status: number,
  detail: string,
  requestId: string | null = null,
): IndelibleError {
  return new IndelibleError({ status, code: 'unexpected_answer', detail, requestId });
}

const firstMs = 200;
const longestMs = 10_000;

/** If the service asks for a longer pause, the call fails instead. */
export const retryAfterMaxMs = 60_000;

/**
 * Milliseconds before attempt `attempt + 1`, with `attempt` from 1: exponential with full jitter
 * (`random` from 0 to 1), so that many clients do not retry at once, but never earlier than the
 * service asked for.
 */
export function backoffMs(attempt: number, random: number, retryAfterMs: number): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  return retryAfterMs + Math.round(ceiling * random);
}
