import {
  type EventFilter,
  type FacetName,
  type FieldProblem,
  facetOf,
  fieldProblemsMax,
  parseFilterBody,
  pointerOf,
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

/** The JSON Pointer to the value in `filters` of a body that was read as this canonical value. */
export function pathOfValue(request: FastifyRequest, name: FacetName, value: string): string {
  const { filters } = request.body as { filters: Partial<Record<FacetName, unknown>> };
  const given = filters[name];
  if (!Array.isArray(given)) return pointerOf('filters', name);
  const index = given.findIndex((each) => facetOf(name).normalise(String(each)) === value);
  return pointerOf('filters', name, index);
}
