import { errorOfAnswer, UnreachableError } from './errors.ts';
import { jsonOrUndefined, networkReason, readBounded, type TransportOptions } from './transport.ts';

/** Opens the body of the link that a call redirects to; `range` goes to the link alone. */
export type Download = (
  path: string,
  headers: Record<string, string>,
  range: Record<string, string>,
) => Promise<Response>;

/**
 * Two steps: the call, with the credential, answers with a short-lived link; the link is opened
 * without it. Throws as every call does; the body itself has no limit of time.
 */
export function createDownload(options: TransportOptions): Download {
  const { baseUrl, key } = options;
  return async (path, headers, range) => {
    const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
    const answer = await open(options, `${baseUrl}${path}`, { ...authorization, ...headers });
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status > 399 || location === null) {
      throw await refusalOf(answer);
    }
    await answer.body?.cancel();
    const file = await open(options, linkAt(baseUrl, location), range);
    if (file.ok) return file;
    throw await refusalOf(file);
  };
}

/** The link below the service's address: its own may be one that only others can reach. */
function linkAt(baseUrl: string, location: string): string {
  const { pathname, search } = new URL(location, baseUrl);
  return `${baseUrl}${pathname.slice(pathname.indexOf('/api/'))}${search}`;
}

async function open(
  { fetch, signal, baseUrl }: TransportOptions,
  url: string,
  headers: Record<string, string>,
): Promise<Response> {
  try {
    return await fetch(url, { headers, redirect: 'manual', signal });
  } catch (cause) {
    signal?.throwIfAborted();
    const message = `${baseUrl} cannot be reached: ${networkReason(cause)}`;
    throw new UnreachableError(message, { cause });
  }
}

// A problem document with fifty field errors; whatever is longer is none of the service's.
const refusalBytesMax = 64 * 1024;

async function refusalOf(answer: Response) {
  const bytes = await readBounded(answer, refusalBytesMax).catch(() => null);
  const body = bytes === null ? undefined : jsonOrUndefined(bytes);
  return errorOfAnswer(answer.status, body, answer.headers.get('x-request-id'));
}
