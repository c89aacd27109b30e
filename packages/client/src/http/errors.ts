import type { ErrorCode, FieldProblem } from '@indelible/protocol';
import type { BatchResult } from '../api-types.ts';
import type { OutgoingEvent } from '../event/outgoing-event.ts';

interface ProblemFacts {
  status: number;
  /**
   * A code of the service, or `unexpected_answer` when something else answered in its place. A
   * service that is newer than this client may have codes that it does not know.
   */
  code: ErrorCode | 'unexpected_answer';
  detail: string;
  requestId: string | null;
  errors?: FieldProblem[];
}

/** The service refused or failed; `code` is stable, `errors` names every field that is wrong. */
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
 * No answer: nothing listens, the network failed, the time was up, or a gateway in front of the
 * service says one of these. What was sent may have been done all the same.
 */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** A batch that took several calls was interrupted between two of them. */
export class PartialBatchError extends Error {
  override readonly name = 'PartialBatchError';
  /** What came of the first events, one each. */
  readonly results: readonly BatchResult[];
  /** The events after them, with their ids: recording these again records nothing twice. */
  readonly unsettled: readonly OutgoingEvent[];

  /** `cause`: what ended the call that failed. */
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

/**
 * What an answer that is no success says; anything but a problem document is `unexpected_answer`.
 */
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

/** An answer that the service does not give: a page of sign-in, a proxy's, or another program's. */
export function notTheService(status: number, requestId: string | null = null): IndelibleError {
  return unexpected(
    status,
    `another server than the audit log service answered with status ${status}`,
    requestId,
  );
}

/** An answer that does not fit what was asked for. */
export function unexpected(
  status: number,
  detail: string,
  requestId: string | null = null,
): IndelibleError {
  return new IndelibleError({ status, code: 'unexpected_answer', detail, requestId });
}
