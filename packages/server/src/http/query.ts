import { type ParamReader, problemText, type QueryRefusal, readParams } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { AppError } from './problem.ts';

/* The one way to read a query: every parameter is known and right, or the call is refused. */

/**
 * Everything behind the first `?`: to a URL parser a filter behind a stray `#` would not be there.
 */
export function searchParams({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  return new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
}

/** What a parser made of a query. Throws the code of its refusal, with every problem. */
export function accepted<Q>(result: { query: Q } | QueryRefusal): Q {
  if ('query' in result) return result.query;
  const { code, problems } = result;
  const [first] = problems;
  const detail =
    problems.length === 1 && first
      ? problemText(first)
      : `${problems.length} parameters are not valid; see errors`;
  throw new AppError(code, detail, { errors: problems });
}

/**
 * What `read` makes of the parameters of a call, of which only `names` may be given. Throws
 * `unknown_parameter` or `invalid_parameter`.
 */
export function readQuery<Q>(
  request: Pick<FastifyRequest, 'url'>,
  names: readonly string[],
  read: (reader: ParamReader) => Q,
): Q {
  const reader = readParams(searchParams(request), names);
  const query = read(reader);
  return accepted(reader.refusal() ?? { query });
}
