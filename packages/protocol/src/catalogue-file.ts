import type { CatalogueFile } from './event/catalogue.ts';
import { actionsByCategory } from './event/catalogue-data.ts';
import { wordPattern } from './event/field-rules.ts';
import { wordLengthMax } from './event/limits.ts';
import { type JsonSchema, schemaProblem } from './json/schema-problem.ts';
import { parseStrictJson } from './json/strict-json.ts';

const words = (description: string, minItems = 0): JsonSchema => ({
  type: 'array',
  description,
  items: { type: 'string', pattern: wordPattern, maxLength: wordLengthMax },
  minItems,
  uniqueItems: true,
});

const plan: JsonSchema = {
  type: 'object',
  required: ['name', 'class', 'keeps'],
  additionalProperties: false,
  properties: {
    name: {
      type: 'string',
      description: 'What calls, mail and the panel name it by.',
      pattern: '^[\\p{L}\\p{N}](?:[\\p{L}\\p{N} ._-]*[\\p{L}\\p{N}])?$',
      maxLength: 40,
    },
    class: {
      type: 'integer',
      description:
        "Number of its tenants' partitions. It belongs to this plan for good; 3 is taken by legal holds.",
      minimum: 0,
      maximum: 999,
    },
    keeps: {
      type: 'object',
      description: 'For how long events are shown: days, or years of the calendar.',
      additionalProperties: false,
      minProperties: 1,
      maxProperties: 1,
      properties: {
        days: { type: 'integer', minimum: 1, maximum: 3660 },
        years: { type: 'integer', minimum: 1, maximum: 100 },
      },
    },
    archive: { type: 'boolean', description: "Whether its tenants' logs are archived." },
  },
};

const refusal: JsonSchema = {
  type: 'object',
  description: 'Holds when both lists do; a list that is left out holds for every word.',
  required: ['why'],
  additionalProperties: false,
  properties: {
    actions: words('Actions that are refused.', 1),
    resourceTypes: words('Resource types that are refused.', 1),
    why: {
      type: 'string',
      description: 'A sentence for the caller who tried to record it.',
      pattern: '\\S',
      maxLength: 500,
    },
  },
};

/** JSON Schema of a CATALOGUE_FILE, as the service publishes and applies it. */
export const catalogueSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Plans and catalogue of an Indelible service',
  description:
    'A part that is left out is that of the default: its three plans, its contact centre.',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string', description: 'Address of this schema, for editors.' },
    plans: {
      type: 'array',
      description: 'Every plan a tenant can have.',
      items: plan,
      minItems: 1,
    },
    events: {
      type: 'object',
      description: 'What is recorded. A list that is left out names nothing.',
      additionalProperties: false,
      properties: {
        actions: {
          type: 'object',
          description: 'Actions by category, beside the standard ones.',
          additionalProperties: false,
          properties: Object.fromEntries(
            Object.entries(actionsByCategory).map(([category, standard]) => [
              category,
              words(`Always among them: ${standard.join(', ')}.`),
            ]),
          ),
        },
        resourceTypes: words('Resource types, for people and editors; others may be recorded too.'),
        sensitiveTypes: words('Resource types whose changes should carry their complete states.'),
        accessTypes: words('Resource types whose accesses the page "Sensitive access" counts.'),
        notRecordable: { type: 'array', description: 'What is refused.', items: refusal },
      },
    },
  },
} as const satisfies JsonSchema & { $schema: string; title: string };

/** Throws RangeError with an error text for the operator that names the wrong part of `text`. */
export function parseCatalogueFile(text: string): CatalogueFile {
  const { value, duplicateKeys } = parsed(text);
  if (duplicateKeys[0] !== undefined) throw new RangeError(`${duplicateKeys[0]} appears twice`);
  const problem = schemaProblem(catalogueSchema, value);
  if (problem !== null) throw new RangeError(problem);
  return value as CatalogueFile;
}

function parsed(text: string) {
  try {
    return parseStrictJson(text);
  } catch (error) {
    throw new RangeError(`the file is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
