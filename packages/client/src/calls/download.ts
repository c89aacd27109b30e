import { errorOfAnswer } from '../http/errors.ts';
import {
  exchange,
  headersOf,
  jsonOrUndefined,
  readBounded,
  requireOnePath,
  type SentHeaders,
  type TransportOptions,
} from '../http/transport.ts';

// Room for a problem document with fifty field errors; the service sends nothing longer.
const refusalBytesMax = 64 * 1024;

/**
 * Two steps: the call, with the credential, returns a short-lived link, which is opened without the
 * credential, and with `range`. Throws like every call. The body has no time limit.
 */
export function createDownload(options: TransportOptions) {
  const { baseUrl } = options;
  const open = (url: string, headers: Headers, isExpected: (answer: Response) => boolean) =>
    exchange(url, { headers }, options, async (answer) => {
      if (isExpected(answer)) return answer;
      const bytes = await readBounded(answer, refusalBytesMax);
      throw errorOfAnswer(answer, bytes && jsonOrUndefined(bytes));
    });
  return async (path: string, headers: SentHeaders, range: SentHeaders): Promise<Response> => {
    requireOnePath(path);
    const answer = await open(`${baseUrl}${path}`, headersOf(options.key, headers), isLink);
    await answer.body?.cancel();
    return open(linkAt(baseUrl, answer), headersOf(null, range), ({ ok }) => ok);
  };
}

const isLink = ({ status, headers }: Response) =>
  status >= 300 && status < 400 && headers.has('location');

/** The link below the address of this client: its own host may not be reachable from here. */
function linkAt(baseUrl: string, { headers }: Response): string {
  const { pathname, search } = new URL(headers.get('location') ?? '', baseUrl);
  return `${baseUrl}${pathname.slice(pathname.indexOf('/api/'))}${search}`;
}
