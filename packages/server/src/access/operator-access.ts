import {
  emailLengthMax,
  externalIdLengthMax,
  isEmail,
  reasonLength,
  reasonLengthMax,
  reasonProblem,
} from '@indelible/protocol';
import { AppError, invalidParameter } from '../http/problem.ts';
import { Type } from '../http/type.ts';

/** What an operator must declare before a tenant's data is read, and optionally who they are. */
export const accessReasonHeader = 'x-access-reason';
export const operatorEmailHeader = 'x-operator-email';

/**
 * Every value of a header, from Node's `rawHeaders` (name, value, name, value, …). `headers` joins
 * repeated ones with `, `, which looks like one reason with a comma.
 */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const wanted = name.toLowerCase();
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted);
}

/**
 * The reason that the header's values declare: percent-encoded UTF-8 of 1 to 1,000 characters
 * without control characters, at least one of them visible; surrounding white space is removed.
 * Throws `reason_required` with an explanation, also for a repeated header.
 */
export function parseAccessReason(values: readonly string[]): string {
  return judged(decode(onlyValue(values)), refused);
}

/** Reads a body's field `reason`, which is not encoded, by these rules; null is missing. */
export function parseReasonField(reason: string | null | undefined): string {
  const problem = (what: string) => new AppError('reason_required', `the field reason ${what}`);
  if (reason === undefined || reason === null) throw problem('is missing');
  return judged(reason, problem);
}

function judged(text: string, problem: (what: string) => AppError): string {
  const wrong = reasonProblem(text);
  if (wrong !== null) throw problem(wrong);
  return text.trim();
}

function onlyValue([value, ...more]: readonly string[]): string {
  if (value === undefined) throw refused('is missing');
  if (more.length > 0) throw refused('must be sent only once');
  return value;
}

function decode(value: string): string {
  // Node reads bytes above ASCII as Latin-1, which would be recorded as wrong letters.
  if (/[\u0080-\uffff]/.test(value)) throw refused('must be percent-encoded');
  try {
    return decodeURIComponent(value);
  } catch {
    throw refused('must be percent-encoded UTF-8');
  }
}

function refused(problem: string): AppError {
  return new AppError('reason_required', `the header X-Access-Reason ${problem}`);
}

/**
 * The operator's e-mail address in `X-Operator-Email` of a platform-bound credential; null without
 * the header. Throws `invalid_parameter` for a repeated header or an invalid address.
 */
export function parseOperatorEmail([value, ...more]: readonly string[]): string | null {
  if (value === undefined) return null;
  if (more.length === 0 && /^[\x21-\x7e]+$/.test(value) && isEmail(value)) return value;
  const message = 'must be one e-mail address';
  const problem = { path: 'X-Operator-Email', code: 'invalid_format', message };
  throw invalidParameter(problem, `the header X-Operator-Email ${message}`);
}

/** Headers of calls that read a tenant's data; required for operators and platform-bound keys. */
export const operatorHeaders = Type.Object({
  'x-tenant-id': Type.Optional(
    Type.String({
      maxLength: 12 * externalIdLengthMax,
      description: 'Operators: whose data. A UUID, or your own id, percent-encoded.',
    }),
  ),
  'x-access-reason': Type.Optional(
    Type.String({
      maxLength: 12 * reasonLengthMax, // a character takes four bytes, each as %F0
      description: `Operators: why, percent-encoded UTF-8, ${reasonLength}. The tenant sees it.`,
    }),
  ),
  'x-operator-email': Type.Optional(
    Type.String({ maxLength: emailLengthMax, description: 'Platform keys: who is looking.' }),
  ),
});

/** Headers of platform calls that change the tenant in their path. */
export const administratorHeaders = Type.Omit(operatorHeaders, ['x-tenant-id']);
