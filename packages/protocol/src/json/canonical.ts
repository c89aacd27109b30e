import { type FieldProblem, fieldProblemsMax, pointerOf } from '../event/field-problem.ts';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** Nested containers; a scalar adds no level. */
export const jsonDepthMax = 32;

// What a JSON string must escape, and surrogates: rare, so JSON.stringify does it.
const needsCare = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/**
 * The canonical JSON text of a value (RFC 8785, JCS): no spaces, members by UTF-16 code units.
 * Throws TypeError without such a text (lone surrogate, NaN, infinity, `undefined`): a silent
 * replacement would be hashed. Does not limit nesting: run `checkJson` first.
 */
export function canonicalize(value: JsonValue): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      if (!Number.isFinite(value)) break;
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? arrayText(value) : objectText(value);
  }
  throw new TypeError(`JSON has no ${String(value)}`);
}

function arrayText(elements: readonly JsonValue[]): string {
  let text = '[';
  for (const element of elements) text += (text === '[' ? '' : ',') + canonicalize(element);
  return `${text}]`;
}

function objectText(object: JsonObject): string {
  let text = '{';
  for (const key of sortedKeys(object)) {
    const member = object[key] as JsonValue;
    text += `${text === '{' ? '' : ','}${quote(key)}:${canonicalize(member)}`;
  }
  return `${text}}`;
}

function quote(text: string): string {
  if (!needsCare.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new TypeError('JSON text has no lone surrogates');
  return JSON.stringify(text);
}

function sortedKeys(object: object): string[] {
  const keys = Object.keys(object);
  let previous = '';
  for (const key of keys) {
    if (key < previous) return keys.length > 16 ? keys.sort() : insertionSort(keys);
    previous = key;
  }
  return keys;
}

// Objects have few keys, mostly in order already: much faster than Array.sort here.
function insertionSort(keys: string[]): string[] {
  for (const [end, key] of keys.entries()) {
    let at = end;
    for (let left = keys[at - 1]; left !== undefined && left > key; left = keys[at - 1]) {
      keys[at] = left;
      at -= 1;
    }
    keys[at] = key;
  }
  return keys;
}

/**
 * The problems, at most 50, that prevent storing and proving a value of `parseStrictJson`:
 * `lone_surrogate` and `null_character` (also in member names; the path is the
 * member's), `too_deep` (more than 32 nested containers, including the value).
 */
export function checkJson(value: unknown): FieldProblem[] {
  const problems: FieldProblem[] = [];
  checkValue(value, 1, problems);
  return problems;
}

// Paths are built while the recursion returns, so a valid value builds none.
function checkValue(value: unknown, depth: number, problems: FieldProblem[]): void {
  if (typeof value === 'string') checkText(value, problems);
  else if (typeof value === 'object' && value !== null) {
    // Stopping here also limits the recursion.
    if (depth > jsonDepthMax) report(problems, 'too_deep', `nested over ${jsonDepthMax} levels`);
    else if (Array.isArray(value)) checkElements(value, depth, problems);
    else checkMembers(value, depth, problems);
  }
}

function checkElements(elements: unknown[], depth: number, problems: FieldProblem[]): void {
  for (let index = 0; index < elements.length; index += 1) {
    const known = problems.length;
    if (known >= fieldProblemsMax) return;
    checkValue(elements[index], depth + 1, problems);
    if (problems.length > known) prefixPaths(index, problems, known);
  }
}

function checkMembers(object: object, depth: number, problems: FieldProblem[]): void {
  for (const key of Object.keys(object)) {
    const known = problems.length;
    if (known >= fieldProblemsMax) return;
    checkText(key, problems);
    checkValue((object as Record<string, unknown>)[key], depth + 1, problems);
    if (problems.length > known) prefixPaths(key, problems, known);
  }
}

function prefixPaths(token: string | number, problems: FieldProblem[], from: number): void {
  const parent = pointerOf(token);
  for (const problem of problems.slice(from)) problem.path = parent + problem.path;
}

function checkText(text: string, problems: FieldProblem[]): void {
  if (text.includes('\0')) report(problems, 'null_character', 'contains U+0000');
  if (!text.isWellFormed()) report(problems, 'lone_surrogate', 'contains half a surrogate pair');
}

function report(problems: FieldProblem[], code: string, message: string): void {
  if (problems.length < fieldProblemsMax) problems.push({ path: '', code, message });
}
