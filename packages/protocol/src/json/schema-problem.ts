import { counted } from '../event/limits.ts';
import { isObject } from './strict-json.ts';
/** The subset of JSON Schema (2020-12) that `schemaProblem` supports, for a settings file. */
export interface JsonSchema {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false;
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly uniqueItems?: true;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The first problem of `value`, as a sentence that begins with its path; or null. */
export function schemaProblem(schema: JsonSchema, value: unknown, path = ''): string | null {
  const at = path === '' ? 'the file' : path;
  if (!hasType(schema, value)) return `${at} must be ${article(schema.type)} ${schema.type}`;
  if (typeof value === 'string') return textProblem(schema, value, at);
  if (typeof value === 'number') return numberProblem(schema, value, at);
  if (Array.isArray(value)) return arrayProblem(schema, value, path);
  return isObject(value) ? objectProblem(schema, value, path) : null;
}

function hasType({ type }: JsonSchema, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return isObject(value);
  return typeof value === type;
}

const article = (word: string) => (/^[aio]/.test(word) ? 'an' : 'a');

function textProblem({ pattern, maxLength }: JsonSchema, text: string, at: string): string | null {
  const shown = JSON.stringify(text);
  if (maxLength !== undefined && text.length > maxLength) {
    return `${at} has more than ${maxLength} characters`;
  }
  if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return null;
  return `${at} is ${shown}, which does not match ${pattern}`;
}

function numberProblem(schema: JsonSchema, value: number, at: string): string | null {
  const { minimum = value, maximum = value } = schema;
  if (value >= minimum && value <= maximum) return null;
  return `${at} is ${value}; it must be from ${minimum} to ${maximum}`;
}

function arrayProblem(schema: JsonSchema, values: unknown[], path: string): string | null {
  const { items, minItems = 0, uniqueItems } = schema;
  if (values.length < minItems) return `${path} must have at least ${counted(minItems, 'item')}`;
  for (const [index, value] of values.entries()) {
    const problem = items ? schemaProblem(items, value, `${path}/${index}`) : null;
    if (problem !== null) return problem;
    if (uniqueItems && values.indexOf(value) < index) {
      return `${path} names ${JSON.stringify(value)} twice`;
    }
  }
  return null;
}

function objectProblem(schema: JsonSchema, value: Record<string, unknown>, path: string) {
  const { properties = {}, required = [], minProperties = 0, maxProperties = 100 } = schema;
  const known = Object.keys(properties);
  const names = Object.keys(value);
  const unknown = schema.properties && names.find((name) => !known.includes(name));
  if (unknown !== undefined) return `${path}/${unknown} is not known here: ${known.join(', ')}`;
  const missing = required.find((name) => !names.includes(name));
  if (missing !== undefined) return `${path}/${missing} is missing`;
  if (names.length < minProperties || names.length > maxProperties) {
    return `${path} must have one of: ${known.join(', ')}`;
  }
  for (const name of names) {
    const inside = properties[name];
    const problem = inside ? schemaProblem(inside, value[name], `${path}/${name}`) : null;
    if (problem !== null) return problem;
  }
  return null;
}
