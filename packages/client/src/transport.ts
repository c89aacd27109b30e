import { backoffMs, retryAfterMaxMs, retryAfterMs } from './backoff.ts';
import { errorOfAnswer, type IndelibleError, UnreachableError } from './errors.ts';

/** Told before each pause, for progress displays and logs. */
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
  /** Whole time of one attempt. */
  timeoutMs: number;
  /** How often an idempotent call is made before it fails. */
  attempts: number;
  fetch: typeof globalThis.fetch;
  onRetry: (retry: Retry) => void;
  /** Ends waiting calls; they then throw its reason. */
  signal: AbortSignal | null;
}

/** Query parameters, in order. */
export type Params = readonly (readonly [string, string])[];

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  params?: Params;
  /** JSON text. */
  body?: string;
  headers?: Record<string, string>;
  /** Whether it may be sent again when its outcome is unknown. */
  idempotent: boolean;
  /** Media type of an answer that is wanted as it is, a `RawAnswer`, in place of JSON. */
  mediaType?: string;
}

/** An answer as it came, for what must not be read and written again on the way. */
export interface RawAnswer {
  bytes: Uint8Array;
  headers: Headers;
}

/** Makes calls and returns their JSON (null for an empty answer), or a `RawAnswer`. */
export type Transport = (call: Call) => Promise<unknown>;

/** An attempt that failed: whether another one may help, and how long the service asks to wait. */
interface Failure {
  error: IndelibleError | UnreachableError;
  retryable: boolean;
  retryAfterMs: number;
}

// 502 and 504 come from proxies in front of a service that restarts.
const retryableStatus = [429, 502, 503, 504];

/**
 * A transport that repeats idempotent calls after network failures, 429 and 503. Throws
 * IndelibleError for what the service refuses and UnreachableError when there is no answer.
 */
export function createTransport(options: TransportOptions): Transport {
  return async (call) => {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await attemptOnce(call, options);
      if ('answer' in outcome) return outcome.answer;
      const { failure } = outcome;
      const again = call.idempotent && failure.retryable && attempt < options.attempts;
      if (!again || failure.retryAfterMs > retryAfterMaxMs) throw failure.error;
      const delayMs = backoffMs(attempt, Math.random(), failure.retryAfterMs);
      options.onRetry({ attempt, delayMs, error: failure.error });
      await pause(delayMs, options.signal);
    }
  };
}

async function attemptOnce(
  call: Call,
  options: TransportOptions,
): Promise<{ answer: unknown } | { failure: Failure }> {
  const request = requestOf(call, options);
  let response: Response;
  let bytes: Uint8Array;
  try {
    response = await options.fetch(addressOf(call, options.baseUrl), request);
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    options.signal?.throwIfAborted();
    return { failure: { error: unreachable(cause, options), retryable: true, retryAfterMs: 0 } };
  }
  const { status, headers } = response;
  if (response.ok && isRaw(call, headers)) return { answer: { bytes, headers } };
  const body = jsonOrUndefined(bytes);
  if (response.ok && call.mediaType === undefined && body !== undefined) return { answer: body };
  return {
    failure: {
      error: errorOfAnswer(status, body, headers.get('x-request-id')),
      retryable: retryableStatus.includes(status),
      retryAfterMs: retryAfterMs(headers.get('retry-after'), Date.now()),
    },
  };
}

/** Whether the answer is what the call wants as it is; a web page in its place is not. */
function isRaw({ mediaType }: Call, headers: Headers): boolean {
  return mediaType !== undefined && headers.get('content-type')?.split(';')[0] === mediaType;
}

function addressOf({ path, params = [] }: Call, baseUrl: string): string {
  const query = new URLSearchParams(params as [string, string][]).toString();
  return `${baseUrl}${path}${query === '' ? '' : `?${query}`}`;
}

function requestOf(call: Call, { key, timeoutMs, signal }: TransportOptions): RequestInit {
  const timeout = AbortSignal.timeout(timeoutMs);
  return {
    method: call.method,
    headers: {
      accept: call.mediaType ?? 'application/json',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: call.body }),
    // The API redirects nowhere: following one could carry events to somebody else.
    redirect: 'manual',
    signal: signal === null ? timeout : AbortSignal.any([timeout, signal]),
  };
}

function unreachable(cause: unknown, { baseUrl, timeoutMs }: TransportOptions): UnreachableError {
  const timedOut = cause instanceof Error && cause.name === 'TimeoutError';
  const why = timedOut ? `no answer within ${timeoutMs / 1_000} s` : networkReason(cause);
  return new UnreachableError(`${baseUrl} cannot be reached: ${why}`, { cause });
}

/** The innermost reason: fetch itself only ever says "fetch failed". */
export function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return networkReason(error.errors[0]);
  return error.cause === undefined ? error.message : networkReason(error.cause);
}

/** Undefined when the bytes are not JSON. */
function jsonOrUndefined(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return null;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

async function pause(ms: number, signal: AbortSignal | null): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = () => reject(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
