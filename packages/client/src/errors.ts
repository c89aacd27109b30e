import { type ErrorCode, type FieldProblem, isErrorCode } from '@indelible/protocol';

interface ProblemFacts {
  status: number;
  /** A code of the service, or `unexpected_answer` when something else answered in its place. */
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

/** No answer: nothing listens, the network failed, or the time was up. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** What an answer that is no success says; anything but a problem document is `unexpected_answer`. */
export function errorOfAnswer(
  status: number,
  body: unknown,
  requestId: string | null,
): IndelibleError {
  const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<ProblemFacts>;
  if (typeof problem.code !== 'string' || !isErrorCode(problem.code)) {
    const detail = `something that is not the service answered with status ${status}`;
    return new IndelibleError({ status, code: 'unexpected_answer', detail, requestId });
  }
  return new IndelibleError({
    status,
    code: problem.code,
    detail: typeof problem.detail === 'string' ? problem.detail : problem.code,
    requestId,
    errors: Array.isArray(problem.errors) ? problem.errors : [],
  });
}
