import {
  aboutFilter,
  type FilterName,
  facetNames,
  facetValuesMax,
  filterNames,
  paramLengthMax,
  paramOf,
} from '@indelible/protocol';
import type { TSchema } from 'typebox';
import { queryText } from './field-schemas.ts';
import { Type } from './type.ts';

/*
 * Filters in the OpenAPI document. `readFilterParams` and `parseFilterBody`, shared with panel and
 * command line, check them and report all problems.
 */

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
const isFacet = (name: FilterName) => facetNames.some((facet) => facet === name);

/** The filters as query parameters. */
export const filterParams: Record<string, TSchema> = Object.fromEntries(
  filterNames.map((name) => [paramOf(name), Type.Optional(paramSchema(name))]),
);

function paramSchema(name: FilterName): TSchema {
  const about = sentence(aboutFilter(name));
  if (!isFacet(name)) return queryText(about);
  return Type.Array(Type.String({ maxLength: paramLengthMax }), {
    maxItems: facetValuesMax,
    description: `${about} Repeatable: any of the values; a leading \`!\` excludes.`,
  });
}

/** Filters in a body. */
export const filterSchema = (title: string, names: readonly FilterName[] = filterNames) =>
  Type.Unsafe<object>({
    type: 'object',
    title,
    description:
      "The list's filters in camelCase, each a value or an array of up to 20; a leading `!` " +
      'excludes. All members must hold; `{}` is every event.',
    properties: Object.fromEntries(
      names.map((name) => [name, { ...value, description: sentence(aboutFilter(name)) }]),
    ),
  });

const one = { type: ['string', 'boolean'], maxLength: paramLengthMax };
const value = { ...one, type: [...one.type, 'array'], maxItems: facetValuesMax, items: one };

/** Filters in an answer, as stored. */
export const storedFilters = (options: { description?: string } = {}) =>
  Type.Record(
    Type.String(),
    Type.Unsafe<string | string[]>({ type: ['string', 'array'], items: { type: 'string' } }),
    options,
  );
