import {
  askedMs,
  backoffMs,
  errorOfAnswer,
  IndelibleError,
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
  /** Whether an answer with another status than success is returned, not thrown. */
  answers?: (status: number, body: unknown) => boolean;
  /** Called with the headers of each answer, before it is returned or thrown. */
  onAnswer?: (headers: Headers) => void;
  /** Media type of an answer to return unparsed, as a `RawAnswer`, instead of JSON. */
  mediaType?: string;
}

/** An answer as bytes, for content that must not be parsed and serialised on the way. */
export interface RawAnswer {
  bytes: Uint8Array;
  headers: Headers;
}

/** Makes calls; returns their JSON (null for an empty answer), or a `RawAnswer`. */
export type Transport = (call: Call) => Promise<unknown>;

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
    const signal = call.signal && either(call.signal, shared.signal);
    const options = signal ? { ...shared, signal } : shared;
    const most = call.idempotent ? Math.min(shared.attempts, call.attempts ?? Infinity) : 1;
    requireOnePath(call.path);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce(call, options);
      } catch (error) {
        if (attempt >= most || !mayPass(error)) throw error;
        const delayMs = backoffMs(attempt, Math.random(), askedMs(error));
        options.onRetry({ attempt, delayMs, error });
        await pause(delayMs, options.signal);
      }
    }
  };
}

/** Whether the same call may succeed later. */
function mayPass(error: unknown): error is Retry['error'] {
  if (!(error instanceof IndelibleError)) return error instanceof UnreachableError;
  const { status, code } = error;
  const isPassing = retryableStatus.includes(status) && !lasting.includes(code);
  return isPassing && error.retryAfterMs <= retryAfterMaxMs;
}

function either(one: AbortSignal, other: AbortSignal | null): AbortSignal {
  return other === null ? one : AbortSignal.any([one, other]);
}

function attemptOnce(call: Call, options: TransportOptions): Promise<unknown> {
  const { method, path, answerBytesMax = 64 * 2 ** 20 } = call;
  return exchange(
    addressOf(call, options.baseUrl),
    requestOf(call, options),
    options,
    async (answer) => {
      const { ok, status, headers } = answer;
      call.onAnswer?.(headers);
      const bytes = await readBounded(answer, answerBytesMax);
      if (bytes === null) {
        throw unexpected(
          status,
          `the answer to ${method} ${path} is longer than ${answerBytesMax} bytes`,
        );
      }
      if (ok && isRaw(call, headers)) return { bytes, headers };
      const body = jsonOrUndefined(bytes);
      if (ok && call.mediaType === undefined && isAnswer(status, body)) return body;
      if (call.answers?.(status, body)) return body;
      if (gatewayStatus.includes(status)) {
        throw Object.assign(new Error(`a gateway answered ${status} for it`), { status });
      }
      throw errorOfAnswer(answer, body);
    },
  );
}

/**
 * Sends a request, and reads its answer within the time limit. The signal stays effective for what
 * `read` leaves unread.
 */
export async function exchange<T>(
  url: string,
  request: RequestInit,
  options: TransportOptions,
  read: (answer: Response) => Promise<T>,
): Promise<T> {
  const { fetch, signal, timeoutMs } = options;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort({ name: 'TimeoutError' }), timeoutMs);
  try {
    // The API never redirects a call; following could send events to another host.
    const how = { redirect: 'manual', signal: either(late.signal, signal) } as const;
    return await read(await fetch(url, { ...request, ...how }));
  } catch (cause) {
    signal?.throwIfAborted();
    throw cause instanceof IndelibleError ? cause : unreachable(cause, options);
  } finally {
    clearTimeout(timer);
  }
}

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

function requestOf(call: Call, { key }: TransportOptions): RequestInit {
  const { method, body, mediaType = json } = call;
  const headers = { accept: mediaType, 'content-type': body && json, ...call.headers };
  return { method, headers: headersOf(key, headers), ...(body !== undefined && { body }) };
}

function unreachable(cause: unknown, { baseUrl, timeoutMs }: TransportOptions): UnreachableError {
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
