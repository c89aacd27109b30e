import {
  type EventFilter,
  type FieldProblem,
  fieldProblemsMax,
  parseFilterBody,
} from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import { asAppError } from './http.ts';
import { invalid } from './problem.ts';

/**
 * The member `filters` of a body. Throws `validation_failed` with every problem of the body if the
 * route has `attachValidation`: those of its schema, of the filter, and `more`.
 */
export function filterOfBody(request: FastifyRequest, more: FieldProblem[] = []): EventFilter {
  const { filters = {} } = (request.body ?? {}) as { filters?: unknown };
  const parsed = parseFilterBody(filters, '/filters');
  const found = request.validationError ? asAppError(request.validationError)?.errors : [];
  // What the schema says about the values of filters, the parser says in better words.
  const ofOthers = (found ?? []).filter(
    ({ path, code }) => !/^\/filters(\/|$)/.test(path) || code === 'required',
  );
  const ofFilter = 'filter' in parsed ? [] : parsed.problems;
  const problems = [...ofOthers, ...ofFilter, ...more].slice(0, fieldProblemsMax);
  if ('filter' in parsed && problems.length === 0) return parsed.filter;
  throw invalid(problems);
}
