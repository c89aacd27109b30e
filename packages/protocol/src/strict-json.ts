import { endOfString, isName, readJson, type StrictJson } from './json-reader.ts';

export type { StrictJson } from './json-reader.ts';

/**
 * JSON.parse for text that will be proven. It also finds duplicate member names, of which
 * JSON.parse keeps the last in silence, so that two readers of one text could believe two different
 * events; `duplicateKeys` has the JSON Pointers of the first 50 repetitions. Throws what JSON.parse
 * throws.
 */
export function parseStrictJson(text: string): StrictJson {
  const value: unknown = JSON.parse(text);
  // A duplicate is written twice but kept once, so equal counts prove that there is none.
  if (countPlainMembers(text) === countKeptMembers(value)) return { value, duplicateKeys: [] };
  return readJson(text);
}

/**
 * Counts the strings that a colon follows, in text that JSON.parse has accepted; null when one has
 * an escape. V8 (Node 24 and 26) then returns a wrong name if an earlier text, of anybody, had one
 * with a backslash at that place: https://github.com/nodejs/node/issues/63785
 */
function countPlainMembers(text: string): number | null {
  let members = 0;
  let backslash = text.indexOf('\\');
  for (let open = text.indexOf('"'); open !== -1; ) {
    const close = endOfString(text, open);
    if (backslash !== -1 && backslash < open) backslash = text.indexOf('\\', open);
    if (isName(text, close + 1)) {
      if (backslash !== -1 && backslash < close) return null;
      members += 1;
    }
    open = text.indexOf('"', close + 1);
  }
  return members;
}

/** Members in the parsed tree; a list instead of recursion, since text may nest without bound. */
function countKeptMembers(value: unknown): number {
  const open: object[] = isContainer(value) ? [value] : [];
  let members = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) {
      for (const element of next) if (isContainer(element)) open.push(element);
      continue;
    }
    const keys = Object.keys(next);
    members += keys.length;
    for (const key of keys) {
      const member = (next as Record<string, unknown>)[key];
      if (isContainer(member)) open.push(member);
    }
  }
  return members;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
