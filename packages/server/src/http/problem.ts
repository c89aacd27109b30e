import {
  boundedPath,
  type ErrorCode,
  errorCodes,
  type FieldProblem,
  problemsText,
} from '@indelible/protocol';

/** An error with a code of `errorCodes`; every other error becomes a 500 or 503. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly errors: FieldProblem[] | undefined;
  /** One result for each event of a batch, if every one was refused. */
  readonly results: unknown[] | undefined;
  /** Response headers, such as `Retry-After` in seconds. */
  readonly headers: Record<string, string>;
  /** The operator's log line, if the operator must act. */
  readonly finding: string | undefined;

  /** Without `detail` it is title and next step of the code. */
  constructor(
    code: ErrorCode,
    detail = `${errorCodes[code].title}. ${errorCodes[code].help}`,
    more: {
      errors?: FieldProblem[];
      results?: unknown[];
      headers?: Record<string, string>;
      finding?: string;
    } = {},
  ) {
    super(detail);
    this.code = code;
    this.errors = more.errors;
    this.results = more.results;
    this.headers = more.headers ?? {};
    this.finding = more.finding;
  }
}

/** The refusal of a body. Without `detail`, its problems are the sentence. */
export function invalid(errors: FieldProblem[], detail = problemsText(errors)): AppError {
  return new AppError('validation_failed', detail, { errors });
}

/** The problem of a member that a body names twice. */
export const repeatedMember = (path: string): FieldProblem => ({
  path: boundedPath(path),
  code: 'duplicate_key',
  message: 'appears twice',
});

/** The refusal of a parameter or header. */
export function invalidParameter(problem: FieldProblem, detail: string): AppError {
  return new AppError('invalid_parameter', detail, { errors: [problem] });
}

/** The answer of a service that cannot work at the moment; the caller may retry. */
export function unavailable(detail: string, retryAfterSeconds = 1): AppError {
  return new AppError('unavailable', detail, {
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}

/** The answer to a question that PostgreSQL would read too long for. */
export function tooSlow(): AppError {
  return new AppError(
    'too_slow',
    'the query took longer than 10 seconds; narrow the time range or add a filter',
  );
}

/** RFC 9457 problem document. `type` is the code's anchor in docs/errors.md, as a URN. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  requestId: string;
  errors?: FieldProblem[];
  results?: unknown[];
}

export function problemOf(error: AppError, requestId: string): Problem {
  const { status, title } = errorCodes[error.code];
  return {
    type: `urn:indelible:error:${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    requestId,
    ...(error.errors ? { errors: error.errors } : {}),
    ...(error.results ? { results: error.results } : {}),
  };
}
