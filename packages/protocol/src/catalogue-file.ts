import type { CatalogueFile } from './event/catalogue.ts';
import { actionsByCategory } from './event/catalogue-data.ts';
import { snakeCasePattern } from './event/field-rules.ts';
import { wordLengthMax } from './event/limits.ts';
import { type JsonSchema, schemaProblem } from './json/schema-problem.ts';
import { parseStrictJson } from './json/strict-json.ts';

const words = (description: string, minItems = 0): JsonSchema => ({
  type: 'array',
  description,
  items: { type: 'string', pattern: snakeCasePattern, maxLength: wordLengthMax },
  minItems,
  uniqueItems: true,
});

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
      description: 'A sentence for whoever tried to record it.',
      pattern: '\\S',
      maxLength: 500,
    },
  },
};

/** JSON Schema of a CATALOGUE_FILE, as the service publishes and applies it. */
export const catalogueSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Catalogue of an Indelible service',
  description: 'Without `events`, the default catalogue holds: that of a contact centre.',
  type: 'object',
  additionalProperties: false,
  properties: {
    $schema: { type: 'string', description: 'Address of this schema, for editors.' },
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

/** Throws RangeError with a sentence for the operator that says where `text` is wrong. */
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
