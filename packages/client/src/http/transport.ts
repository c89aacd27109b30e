import { retryAfterMs } from '@indelible/protocol';
import {
  backoffMs,
  errorOfAnswer,
  type IndelibleError,
  retryAfterMaxMs,
  UnreachableError,
  unexpected,
} from './errors.ts';

/** Reported before each pause, for progress displays and logs. */
export interface Retry {
  /** How often the call has failed. */
  attempt: number;
  delayMs: number;
  error: IndelibleError | UnreachableError;
}

export interface TransportOptions {
  /** Without a trailing slash. */
  baseUrl: string;
  key: string | null;
  /** Time limit of one attempt. */
  timeoutMs: number;
  /** The most attempts of an idempotent call. */
  attempts: number;
  fetch: typeof globalThis.fetch;
  onRetry: (retry: Retry) => void;
  /** Aborts waiting calls; they throw its reason. */
  signal: AbortSignal | null;
}

/** By name; undefined ones are not sent. */
export type SentHeaders = Record<string, string | undefined>;

export type Params = readonly (readonly [string, string])[];

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  params?: Params;
  /** JSON text. */
  body?: string;
  headers?: SentHeaders;
  /** Whether it may be sent again if its outcome is unknown. */
  idempotent: boolean;
  /** Fewer attempts than usual. */
  attempts?: number;
  /** Ends this call; that of the client ends every call. */
  signal?: AbortSignal | undefined;
  /** A longer answer is refused while it is read; default 64 MiB. */
  answerBytesMax?: number;
  /** Media type of an answer to return unparsed, as a `RawAnswer`, instead of JSON. */
  mediaType?: string;
}

/** An answer as bytes, for content that must not be parsed and serialised on the way. */
export interface RawAnswer {
  bytes: Uint8Array;
  headers: Headers;
}

const answerBytesMax = 64 * 2 ** 20;

/** Makes calls; returns their JSON (null for an empty answer), or a `RawAnswer`. */
export type Transport = (call: Call) => Promise<unknown>;

/** A failed attempt, and the pause that the service asks for; `never`: a retry would not help. */
interface Failure {
  error: IndelibleError | UnreachableError;
  retryAfterMs: number;
}

const never = Number.POSITIVE_INFINITY;

const retryableStatus = [429, 503];
/** Codes of a 503 that a retry does not resolve. */
const lasting = ['log_damaged', 'too_slow'];

/**
 * The service never sends these; a gateway does if it cannot reach the service. So they count as
 * network failures.
 */
const gatewayStatus = [502, 504];

/**
 * Retries idempotent calls after network failures, 429 and 503, except those that waiting
 * does not mend. Throws IndelibleError if the service refuses, and UnreachableError
 * without an answer.
 */
export function createTransport(shared: TransportOptions): Transport {
  return async (call) => {
    const options = { ...shared, signal: either(call.signal, shared.signal) };
    requireOnePath(call.path);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await attemptOnce(call, options);
      if ('answer' in outcome) return outcome.answer;
      const { failure } = outcome;
      const attempts = Math.min(options.attempts, call.attempts ?? options.attempts);
      const again = call.idempotent && attempt < attempts;
      if (!again || failure.retryAfterMs > retryAfterMaxMs) throw failure.error;
      const delayMs = backoffMs(attempt, Math.random(), failure.retryAfterMs);
      options.onRetry({ attempt, delayMs, error: failure.error });
      await pause(delayMs, options.signal);
    }
  };
}

function either(one: AbortSignal | undefined, other: AbortSignal | null): AbortSignal | null {
  return one && other ? AbortSignal.any([one, other]) : (one ?? other);
}

async function attemptOnce(
  call: Call,
  options: TransportOptions,
): Promise<{ answer: unknown } | { failure: Failure }> {
  const request = requestOf(call, options);
  let response: Response;
  let bytes: Uint8Array | null;
  try {
    response = await options.fetch(addressOf(call, options.baseUrl), request);
    bytes = await readBounded(response, call.answerBytesMax ?? answerBytesMax);
  } catch (cause) {
    options.signal?.throwIfAborted();
    return { failure: noAnswer(unreachable(cause, options)) };
  }
  const { status, headers } = response;
  if (bytes === null) return { failure: tooLong(response, call) };
  if (response.ok && isRaw(call, headers)) return { answer: { bytes, headers } };
  const body = jsonOrUndefined(bytes);
  if (response.ok && call.mediaType === undefined && isAnswer(status, body))
    return { answer: body };
  const error = errorOfAnswer(status, body, headers.get('x-request-id'));
  const isPassing = retryableStatus.includes(status) && !lasting.includes(error.code);
  if (gatewayStatus.includes(status)) {
    const gateway = new Error(`a gateway answered ${status} for it`);
    return { failure: noAnswer(unreachable(gateway, options)) };
  }
  const askedMs = retryAfterMs(headers.get('retry-after'), Date.now());
  return { failure: { error, retryAfterMs: isPassing ? askedMs : never } };
}

const noAnswer = (error: UnreachableError): Failure => ({ error, retryAfterMs: 0 });

/** The body, or null if it is longer; stops reading at the limit. */
export async function readBounded(
  { body }: Response,
  bytesMax: number,
): Promise<Uint8Array | null> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // Leaving the loop cancels the stream.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    length += chunk.length;
    if (length > bytesMax) return null;
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function tooLong({ status, headers }: Response, call: Call): Failure {
  const bytesMax = call.answerBytesMax ?? answerBytesMax;
  const detail = `the answer to ${call.method} ${call.path} is longer than ${bytesMax} bytes`;
  const error = unexpected(status, detail, headers.get('x-request-id'));
  return { error, retryAfterMs: never };
}

/** Whether the answer has the media type of the call; a web page does not. */
function isRaw({ mediaType }: Call, headers: Headers): boolean {
  return mediaType !== undefined && headers.get('content-type')?.split(';')[0] === mediaType;
}

/** The service answers with an object or with no content; a gateway may send anything. */
function isAnswer(status: number, body: unknown): boolean {
  if (body === null) return status === 204;
  return typeof body === 'object' && !Array.isArray(body);
}

/** Throws TypeError for an id of dots alone: in an address it would lead to another call. */
export function requireOnePath(path: string): void {
  if (/\/\.{1,2}(\/|$)/.test(path)) throw new TypeError('an id cannot be `.` or `..`');
}

function addressOf({ path, params = [] }: Call, baseUrl: string): string {
  const query = new URLSearchParams(params as [string, string][]).toString();
  return `${baseUrl}${path}${query === '' ? '' : `?${query}`}`;
}

const json = 'application/json';

/** Throws for text that a header cannot hold; otherwise it would look like a network failure. */
export function headersOf(key: string | null, more: SentHeaders): Headers {
  const headers = new Headers(key === null ? {} : { authorization: `Bearer ${key}` });
  for (const [name, value] of Object.entries(more)) {
    if (value !== undefined) headers.set(name, value);
  }
  return headers;
}

function requestOf(call: Call, { key, timeoutMs, signal }: TransportOptions): RequestInit {
  const timeout = AbortSignal.timeout(timeoutMs);
  return {
    method: call.method,
    headers: headersOf(key, {
      accept: call.mediaType ?? json,
      'content-type': call.body && json,
      ...call.headers,
    }),
    ...(call.body === undefined ? {} : { body: call.body }),
    // The API never redirects; following a redirect could send events to another host.
    redirect: 'manual',
    signal: signal === null ? timeout : AbortSignal.any([timeout, signal]),
  };
}

export function unreachable(
  cause: unknown,
  { baseUrl, timeoutMs }: TransportOptions,
): UnreachableError {
  const timedOut = (cause as Error | null)?.name === 'TimeoutError';
  const why = timedOut ? `no answer within ${timeoutMs / 1_000} s` : networkReason(cause);
  return new UnreachableError(`${baseUrl} cannot be reached: ${why}`, { cause });
}

/** The innermost reason: fetch itself only says "fetch failed". */
function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return networkReason(error.errors[0]);
  if ('code' in error && error.code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return 'it does not answer with TLS: its address may begin with http:// instead of https://';
  }
  return error.cause === undefined ? error.message : networkReason(error.cause);
}

/** Null for no bytes, undefined when they are not JSON. */
export function jsonOrUndefined(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return null;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function pause(ms: number, signal: AbortSignal | null): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
