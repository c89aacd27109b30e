import type { FastifyRequest } from 'fastify';
import { AppError } from './problem.ts';

/** The query of a call, which may hold these parameters alone. Throws `unknown_parameter`. */
export function readParams(
  { url }: Pick<FastifyRequest, 'url'>,
  names: readonly string[],
): URLSearchParams {
  const params = new URL(url, 'http://local').searchParams;
  const unknown = [...params.keys()].filter((name) => !names.includes(name));
  if (unknown.length === 0) return params;
  const sentence =
    names.length === 0
      ? 'this call accepts no parameters'
      : `${names.join(' and ')} are the only parameters of this call`;
  const message = 'is not a parameter of this call';
  throw new AppError('unknown_parameter', sentence, {
    errors: unknown.map((path) => ({ path, code: 'unknown_parameter', message })),
  });
}
