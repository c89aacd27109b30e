import { isEmail, isVisible, reasonLengthMax } from '@indelible/protocol';
import { AppError } from '../http/index.ts';

/** What an operator must declare before a tenant's data is read, and optionally who they are. */
export const accessReasonHeader = 'x-access-reason';
export const operatorEmailHeader = 'x-operator-email';

/**
 * Every value of a header, from Node's `rawHeaders` (name, value, name, value, ...). Its `headers`
 * joins a repeated header with `, `, which looks like one reason with a comma.
 */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const wanted = name.toLowerCase();
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted);
}

/**
 * The declared reason: percent-encoded UTF-8 of 1 to 1,000 characters, none of them a control
 * character, at least one of them visible; surrounding white space is cut off. Throws
 * `reason_required` with a sentence that says what is wrong; a repeated header is.
 */
export function parseAccessReason(header: string | readonly string[] | undefined): string {
  return judged(decode(onlyValue(header)), refused);
}

/**
 * The same rules for a body's field `reason`, which needs no encoding; absent or null is missing.
 */
export function parseReasonField(reason: string | null | undefined): string {
  const problem = (what: string) => new AppError('reason_required', `the field reason ${what}`);
  if (reason === undefined || reason === null) throw problem('is missing');
  return judged(reason, problem);
}

function judged(text: string, problem: (what: string) => AppError): string {
  // Control characters could forge lines wherever a reason is shown as plain text.
  if (/\p{Cc}/u.test(text)) throw problem('must not hold control characters');
  if (!text.isWellFormed()) throw problem('must be well-formed Unicode');
  if (!isVisible(text)) throw problem('must not be blank');
  const reason = text.trim();
  if ([...reason].length > reasonLengthMax) throw problem('must not exceed 1,000 characters');
  return reason;
}

function onlyValue(header: string | readonly string[] | undefined): string {
  const [value, ...more] = header === undefined ? [] : [header].flat();
  if (value === undefined) throw refused('is missing');
  if (more.length > 0) throw refused('must be sent only once');
  return value;
}

function decode(value: string): string {
  // Raw bytes above ASCII reach us as Latin-1, and would be recorded as other letters.
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
 * The operator's e-mail address as a platform-bound credential declares it in `X-Operator-Email`,
 * or null without that header. Throws `invalid_parameter` for a repeated header and for no address.
 */
export function parseOperatorEmail(header: string | readonly string[] | undefined): string | null {
  const [value, ...more] = header === undefined ? [] : [header].flat();
  if (value === undefined) return null;
  if (more.length === 0 && /^[\x21-\x7e]+$/.test(value) && isEmail(value)) return value;
  const message = 'must be one e-mail address';
  throw new AppError('invalid_parameter', `the header X-Operator-Email ${message}`, {
    errors: [{ path: 'X-Operator-Email', code: 'invalid_format', message }],
  });
}
