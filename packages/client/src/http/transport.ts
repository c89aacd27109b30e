import { backoffMs, retryAfterMaxMs, retryAfterMs } from './backoff.ts';
import { errorOfAnswer, type IndelibleError, UnreachableError, unexpected } from './errors.ts';

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

/** By name; those that are undefined are not sent. */
export type SentHeaders = Record<string, string | undefined>;

/** Query parameters, in order. */
export type Params = readonly (readonly [string, string])[];

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  params?: Params;
  /** JSON text. */
  body?: string;
  headers?: SentHeaders;
  /** Whether it may be sent again when its outcome is unknown. */
  idempotent: boolean;
  /** Fewer attempts than every call has. */
  attempts?: number;
  /** A longer answer is refused while it is read; 64 MiB without it. */
  answerBytesMax?: number;
  /** Media type of an answer that is wanted as it is, a `RawAnswer`, in place of JSON. */
  mediaType?: string;
}

/** An answer as it came, for what must not be read and written again on the way. */
export interface RawAnswer {
  bytes: Uint8Array;
  headers: Headers;
}

const answerBytesMax = 64 * 2 ** 20;

/** Makes calls and returns their JSON (null for an empty answer), or a `RawAnswer`. */
export type Transport = (call: Call) => Promise<unknown>;

/**
 * An attempt that failed, and how long the service asks
 * to wait before another; `never`: it would not help.
 */
interface Failure {
  error: IndelibleError | UnreachableError;
  retryAfterMs: number;
}

const never = Number.POSITIVE_INFINITY;

const retryableStatus = [429, 503];

/**
 * The service never answers with these: a gateway does, for a service that it does not reach or
 * hear from. That is a failure of the network, one hop later.
 */
const gatewayStatus = [502, 504];

/**
 * A transport that repeats idempotent calls after network failures, 429 and 503, except for a log
 * that is damaged: waiting mends nothing. Throws IndelibleError for what the service refuses and
 * UnreachableError when there is no answer.
 */
export function createTransport(options: TransportOptions): Transport {
  return async (call) => {
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
  const isPassing = retryableStatus.includes(status) && error.code !== 'log_damaged';
  if (gatewayStatus.includes(status)) {
    const gateway = new Error(`a gateway answered ${status} for it`);
    return { failure: noAnswer(unreachable(gateway, options)) };
  }
  const askedMs = retryAfterMs(headers.get('retry-after'), Date.now());
  return { failure: { error, retryAfterMs: isPassing ? askedMs : never } };
}

const noAnswer = (error: UnreachableError): Failure => ({ error, retryAfterMs: 0 });

/** The body, or null when it is longer: the rest is not read, however long it goes on. */
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

/** Whether the answer is what the call wants as it is; a web page in its place is not. */
function isRaw({ mediaType }: Call, headers: Headers): boolean {
  return mediaType !== undefined && headers.get('content-type')?.split(';')[0] === mediaType;
}

/**
 * The service answers with an object, or says that
 * it has nothing to say; a gateway may say anything.
 */
function isAnswer(status: number, body: unknown): boolean {
  if (body === null) return status === 204;
  return typeof body === 'object' && !Array.isArray(body);
}

function addressOf({ path, params = [] }: Call, baseUrl: string): string {
  const query = new URLSearchParams(params as [string, string][]).toString();
  return `${baseUrl}${path}${query === '' ? '' : `?${query}`}`;
}

const json = 'application/json';

/** Throws for text that no header can hold, which must not pass for a network that fails. */
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
    // The API redirects nowhere: following one could carry events to somebody else.
    redirect: 'manual',
    signal: signal === null ? timeout : AbortSignal.any([timeout, signal]),
  };
}

/** No answer, and why. */
export function unreachable(
  cause: unknown,
  { baseUrl, timeoutMs }: TransportOptions,
): UnreachableError {
  const timedOut = (cause as Error | null)?.name === 'TimeoutError';
  const why = timedOut ? `no answer within ${timeoutMs / 1_000} s` : networkReason(cause);
  return new UnreachableError(`${baseUrl} cannot be reached: ${why}`, { cause });
}

/** The innermost reason: fetch itself only ever says "fetch failed". */
function networkReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return networkReason(error.errors[0]);
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
