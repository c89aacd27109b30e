import { readFileSync } from 'node:fs';
import {
  type EventField,
  eventFields,
  type FieldKind,
  isObject,
  type JsonValue,
  parseStrictJson,
  unknownNameMessage,
} from '@indelible/protocol';
import { sentenceOf, UsageError } from '../io.ts';
import {
  createLineMap,
  type Form,
  type LineMap,
  type MappedField,
  type Place,
} from './line-map.ts';
import { epochForms } from './line-times.ts';

/** Reads the file of `--map`. Throws UsageError with the path and what is wrong. */
export function readMap(path: string): LineMap {
  try {
    return parseMap(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`the map ${path} cannot be used: ${sentenceOf(error)}`);
  }
}

/**
 * A map is a JSON object from fields of an event to places in the lines of another product. A place
 * is a JSON Pointer, `{"path": …, "lowerCase": true, "time": "epoch_s"}` or `{"constant": …}`; of a
 * list of places the first one with a value counts. Throws an error with what is wrong.
 */
export function parseMap(text: string): LineMap {
  const fields = Object.entries(membersOf(text)).map(([name, value]) => fieldOf(name, value));
  requireFields(fields.map(({ names }) => names.join('.')));
  return createLineMap(fields);
}

function membersOf(text: string): Record<string, unknown> {
  try {
    const { value, duplicateKeys } = parseStrictJson(text);
    if (!isObject(value)) throw new Error('it is not a JSON object');
    const [twice] = duplicateKeys;
    if (twice !== undefined) throw new Error(`${twice} stands there twice`);
    return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error(`it is not valid JSON: ${error.message}`);
  }
}

/** What a map may name; `NAME` is any name, `0` any position in a list. */
const known = new Map<string, Form>([
  ['sourceId', 'text'],
  ...eventFields.filter(({ sent, path }) => sent && path !== 'asSent').flatMap(namesOf),
]);

function namesOf({ path, kind, members = {} }: EventField): [string, Form][] {
  const inner = Object.entries(members);
  if (kind === 'object') return inner.map(([name, each]) => [`${path}.${name}`, formOf(each.kind)]);
  if (kind === 'list') return inner.map(([name, each]) => [`${path}.0.${name}`, formOf(each.kind)]);
  const own: [string, Form] = [path, formOf(kind)];
  if (kind === 'metadata') return [own, [`${path}.NAME`, 'scalar']];
  return kind === 'state' ? [own, [`${path}.NAME`, 'any']] : [own];
}

function formOf(kind: FieldKind): Form {
  return ['time', 'boolean', 'sequence', 'diff', 'state', 'metadata'].includes(kind)
    ? 'any'
    : 'text';
}

function fieldOf(name: string, value: unknown): MappedField {
  const [, owner, member] = /^(metadata|before|after)\.(.+)$/.exec(name) ?? [];
  const isOpen = owner !== undefined && member !== undefined;
  const form = known.get(isOpen ? `${owner}.NAME` : name.replace(/\.\d\./, '.0.'));
  if (form === undefined) {
    throw new Error(unknownNameMessage('field', name, [...known.keys()]));
  }
  const values = Array.isArray(value) ? value : [value];
  if (values.length === 0) throw new Error(`${name} has no path`);
  const places = values.map((each) => placeOf(name, each));
  return { names: isOpen ? [owner, member] : name.split('.'), form, places };
}

const options = ['path', 'constant', 'lowerCase', 'time'];

function placeOf(field: string, value: unknown): Place {
  if (typeof value === 'string') return placeOf(field, { path: value });
  const refuse = (message: string) => new Error(`${field}: ${message}`);
  if (!isObject(value)) throw refuse('a path is needed, such as "/user/id"');
  const unknown = Object.keys(value).find((name) => !options.includes(name));
  if (unknown !== undefined) throw refuse(unknownNameMessage('option', unknown, options));
  const { path, constant, lowerCase = false, time = null } = value;
  if (constant !== undefined && Object.keys(value).length === 1) {
    return { constant: constant as JsonValue };
  }
  if (typeof path !== 'string' || constant !== undefined) {
    throw refuse('either a path or a constant is needed');
  }
  if (typeof lowerCase !== 'boolean') throw refuse('lowerCase must be true or false');
  const form = epochForms.find((each) => each === time) ?? null;
  if (time !== form) throw refuse(`time must be ${epochForms.join(' or ')}`);
  return { path: tokensOf(path, refuse), lowerCase, time: form };
}

/** The names of a JSON Pointer (RFC 6901). */
function tokensOf(path: string, refuse: (message: string) => Error): string[] {
  if (/^\/(?:[^~]|~[01])*$/.test(path)) {
    const tokens = path.slice(1).split('/');
    return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  const meant = `/${path.replaceAll('.', '/')}`;
  throw refuse(`${JSON.stringify(path)} is not a JSON Pointer; did you mean "${meant}"?`);
}

function requireFields(names: readonly string[]): void {
  const has = (name: string) => names.includes(name);
  for (const { path, owner, sent, unless = [] } of eventFields) {
    if (sent !== 'required' || has(path)) continue;
    const others = unless.map((name) => `${owner}.${name}`);
    if (others.some(has)) continue;
    throw new Error(`it has no ${[...others, path].join(', and no ')}`);
  }
  if (!has('timestamp') && !has('id')) throw new Error('it has no timestamp');
  const whole = names.find((name) => names.some((each) => each.startsWith(`${name}.`)));
  if (whole !== undefined) {
    throw new Error(`${whole} and ${whole}.… cannot both be mapped`);
  }
}
