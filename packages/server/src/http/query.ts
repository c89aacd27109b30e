import { type ParamReader, problemsText, type QueryRefusal, readParams } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { AppError } from './problem.ts';

/* The only reader of queries: every parameter is known and valid, or the call is refused. */

/** Everything after the first `?`: a URL parser would drop a filter after an unescaped `#`. */
export function searchParams({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  return new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
}

/** The result of a parser. Throws its refusal, with every problem. */
export function accepted<Q>(result: { query: Q } | QueryRefusal): Q {
  if ('query' in result) return result.query;
  const { code, problems } = result;
  throw new AppError(code, problemsText(problems), { errors: problems });
}

/**
 * The result of `read` for the call's parameters, which may only be `names`. Throws
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
