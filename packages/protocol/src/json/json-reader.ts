import { fieldProblemsMax, pointerOf } from '../event/field-problem.ts';
import { keepsValue } from './number-text.ts';

export interface StrictJson {
  value: unknown;
  /** JSON Pointers of members that occur more than once in their object. */
  duplicateKeys: string[];
  /** JSON Pointers of numbers that are texts in `value`, because a double would change them. */
  numbersAsText: string[];
}

// What is below this depth is reported at its ancestor; such depth is refused anyway.
const pointerLevelsMax = 64;

interface Result {
  value: unknown;
  duplicates: Set<string>;
  numbers: Set<string>;
}

/** An open array or object; `name` is the member that is being read. */
interface Level {
  container: unknown[] | Record<string, unknown>;
  name: string;
}

/**
 * Reads text that JSON.parse has accepted, character by character: some ten times slower, but it
 * reports repeated names and numbers that a double would change (the first 50 of each), and reads
 * every name correctly. Uses a list instead of
 * recursion, because nesting is not limited here.
 */
export function readJson(text: string): StrictJson {
  const result: Result = { value: undefined, duplicates: new Set(), numbers: new Set() };
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = readString(text, at, levels, result);
    else if (character === '{') levels.push({ container: {}, name: '' });
    else if (character === '[') levels.push({ container: [], name: '' });
    else if (character === '}' || character === ']') put(levels.pop()?.container, levels, result);
    else if (isScalarStart(character)) at = readScalar(text, at, levels, result);
  }
  const { value, duplicates, numbers } = result;
  return { value, duplicateKeys: [...duplicates], numbersAsText: [...numbers] };
}

/** Whether a scalar starts here; called outside strings and brackets. */
function isScalarStart(character: string | undefined): boolean {
  return character !== undefined && character > ' ' && character !== ',' && character !== ':';
}

/** Reads a number, `true`, `false` or `null`; returns the position of its last character. */
function readScalar(text: string, start: number, levels: Level[], result: Result): number {
  const scalar = /[-+.\w]+/y;
  scalar.lastIndex = start;
  const [literal = ''] = scalar.exec(text) ?? [];
  const isText = /^[-\d]/.test(literal) && !keepsValue(literal);
  if (isText) report(result.numbers, levels);
  put(isText ? literal : JSON.parse(literal), levels, result);
  return start + literal.length - 1;
}

/** Reads a name or a value; returns the position of its closing quote. */
function readString(text: string, open: number, levels: Level[], result: Result): number {
  const close = endOfString(text, open);
  const plain = text.slice(open + 1, close);
  // JSON.parse for each string would take most of the time.
  const string = plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
  const level = levels.at(-1);
  if (level === undefined || !isName(text, close + 1)) {
    put(string, levels, result);
    return close;
  }
  level.name = string;
  if (Object.hasOwn(level.container, string)) report(result.duplicates, levels);
  return close;
}

function report(pointers: Set<string>, levels: Level[]): void {
  if (pointers.size >= fieldProblemsMax) return;
  pointers.add(pointerOf(...levels.slice(0, pointerLevelsMax).map(tokenOf)));
}

function tokenOf({ container, name }: Level): string | number {
  return Array.isArray(container) ? container.length : name;
}

function put(value: unknown, levels: Level[], result: Result): void {
  const level = levels.at(-1);
  if (level === undefined) result.value = value;
  else if (Array.isArray(level.container)) level.container.push(value);
  else setMember(level.container, level.name, value);
}

function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  // Assigning `__proto__` would change the prototype; JSON.parse makes an ordinary member.
  else Object.defineProperty(object, name, { value, ...ordinary });
}

const ordinary = { writable: true, enumerable: true, configurable: true };

/** Position of the quote that closes the string opened at `open`. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); ; close = text.indexOf('"', close + 1)) {
    // An odd number of backslashes escapes a quote. Each is counted once: linear time.
    let slash = close - 1;
    while (text.charCodeAt(slash) === 0x5c) slash -= 1;
    if ((close - slash) % 2 === 1) return close;
  }
}

/** Whether a colon follows `position` and white space: the string before it is then a name. */
export function isName(text: string, position: number): boolean {
  let at = position;
  // JSON's white space (tab, line feed, carriage return, space) has codes up to 0x20.
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === 0x3a;
}
