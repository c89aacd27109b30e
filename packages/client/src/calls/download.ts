import { errorOfAnswer } from '../http/errors.ts';
import {
  headersOf,
  jsonOrUndefined,
  readBounded,
  requireOnePath,
  type SentHeaders,
  type TransportOptions,
  unreachable,
} from '../http/transport.ts';

/**
 * Two steps: the call, with the credential, returns a short-lived link, which is opened without the
 * credential, and with `range`. Throws like every call. The body has no time limit.
 */
export function createDownload(options: TransportOptions) {
  const { baseUrl, key } = options;
  return async (path: string, headers: SentHeaders, range: SentHeaders): Promise<Response> => {
    requireOnePath(path);
    const answer = await open(options, `${baseUrl}${path}`, headersOf(key, headers));
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status > 399 || location === null) {
      throw await refusalOf(answer);
    }
    await answer.body?.cancel();
    const file = await open(options, linkAt(baseUrl, location), headersOf(null, range));
    if (file.ok) return file;
    throw await refusalOf(file);
  };
}

/** The link below the address of this client: its own host may not be reachable from here. */
function linkAt(baseUrl: string, location: string): string {
  const { pathname, search } = new URL(location, baseUrl);
  return `${baseUrl}${pathname.slice(pathname.indexOf('/api/'))}${search}`;
}

async function open(options: TransportOptions, url: string, headers: Headers): Promise<Response> {
  const { fetch, signal, timeoutMs } = options;
  // The time limit ends when the answer begins; the signal stays effective for the body.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort({ name: 'TimeoutError' }), timeoutMs);
  const both = signal === null ? late.signal : AbortSignal.any([late.signal, signal]);
  try {
    return await fetch(url, { headers, redirect: 'manual', signal: both });
  } catch (cause) {
    signal?.throwIfAborted();
    throw unreachable(cause, options);
  } finally {
    clearTimeout(timer);
  }
}

// Room for a problem document with fifty field errors; the service sends nothing longer.
const refusalBytesMax = 64 * 1024;

async function refusalOf(answer: Response) {
  const bytes = await readBounded(answer, refusalBytesMax).catch(() => null);
  const body = bytes === null ? undefined : jsonOrUndefined(bytes);
  return errorOfAnswer(answer.status, body, answer.headers.get('x-request-id'));
}
