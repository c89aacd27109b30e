/** Reads decoded query parameters strictly and collects all problems. */

import { type FieldProblem, fieldProblemsMax } from '../event/field-problem.ts';
import { isPrintable } from '../event/field-rules.ts';
import { unknownNameMessage } from './nearest-name.ts';

export type QueryProblemCode = 'unknown_parameter' | 'invalid_parameter' | 'page_too_deep';

/** Why a query is refused: all problems, and one code for the answer. */
export interface QueryRefusal {
  code: QueryProblemCode;
  problems: FieldProblem[];
}

export type ParamReader = ReturnType<typeof readParams>;

type Refuse = (name: string, message: string, code?: QueryProblemCode) => void;

/** The longest value, in UTF-16 units; cursors are the longest ones. */
export const paramLengthMax = 4_096;

/** A raw + in an address arrives as a space: `ana+x@example.com` as `ana x@example.com`. */
const plusHint = ' (a raw + is a space: write it as %2B)';

/** Groups `params` by name. Unknown names, empty and unprintable values are problems. */
export function readParams(params: Iterable<readonly [string, string]>, known: readonly string[]) {
  const problems: FieldProblem[] = [];
  const groups = valuesOf(params);
  const refuse: Refuse = (path, message, code = 'invalid_parameter') => {
    if (problems.length >= fieldProblemsMax) return;
    const hasSpace = groups.get(path)?.some((value) => value.includes(' ')) === true;
    problems.push({ path, code, message: hasSpace ? message + plusHint : message });
  };
  refuseUnknown([...groups.keys()], known, refuse);
  const valuesByName = new Map<string, string[]>();
  for (const name of known) {
    valuesByName.set(name, acceptable(name, groups.get(name) ?? [], refuse));
  }
  const all = (name: string): readonly string[] => valuesByName.get(name) ?? [];
  return {
    /** The values of a repeatable parameter. */
    all,
    /** The values of a repeatable parameter, each of which may be a comma-separated list. */
    list<T extends string>(name: string, allowed: readonly T[]): T[] {
      const found = all(name).flatMap((value) => value.split(',').map(oneOf(allowed)));
      const words = found.filter((word) => word !== null);
      if (words.length < found.length) refuse(name, `accepts only ${allowed.join(', ')}`);
      return words;
    },
    /** The value of a parameter that may be given once; `parse` returns null for a wrong one. */
    one<T>(name: string, expected: string, parse: (text: string) => T | null): T | undefined {
      const [text, another] = all(name);
      if (text === undefined) return undefined;
      const value = another === undefined ? parse(text) : null;
      if (another !== undefined) refuse(name, 'may be given only once');
      else if (value === null) refuse(name, `must be ${expected}`);
      return value ?? undefined;
    },
    refuse,
    refusal: (): QueryRefusal | null =>
      problems.length === 0 ? null : { code: codeOf(problems), problems },
  };
}

function valuesOf(params: Iterable<readonly [string, string]>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, value] of params) {
    const values = groups.get(name);
    if (values === undefined) groups.set(name, [value]);
    else values.push(value);
  }
  return groups;
}

/** Reads a whole number in `[min, max]`, written without sign or leading zeros. */
export function wholeNumber(min: number, max: number): (text: string) => number | null {
  return (text) => {
    const value = /^(?:0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : null;
  };
}

/** Reads exactly one of the given words. */
export function oneOf<T extends string>(words: readonly T[]): (text: string) => T | null {
  return (text) => words.find((word) => word === text) ?? null;
}

function refuseUnknown(names: readonly string[], known: readonly string[], refuse: Refuse): void {
  const unknown = names.filter((name) => !known.includes(name));
  for (const name of unknown.slice(0, fieldProblemsMax)) {
    const shown = name.slice(0, 64).toWellFormed();
    refuse(shown, unknownNameMessage('parameter', name, known), 'unknown_parameter');
  }
}

/** An empty value is probably a form field left empty: refused, like an unprintable one. */
function acceptable(name: string, values: readonly string[], refuse: Refuse): string[] {
  if (values.includes('')) refuse(name, 'must not be empty');
  const printable = values.every(isPrintable);
  if (!printable) refuse(name, 'must not hold control characters or broken UTF-8');
  const tooLong = values.some((value) => value.length > paramLengthMax);
  if (tooLong) refuse(name, `must not be longer than ${paramLengthMax} characters`);
  return values.filter((value) => value !== '' && isPrintable(value));
}

/** An unknown parameter may explain other problems, so its code wins; `page_too_deep` is last. */
function codeOf(problems: readonly FieldProblem[]): QueryProblemCode {
  if (problems.some(({ code }) => code === 'unknown_parameter')) return 'unknown_parameter';
  return problems.every(({ code }) => code === 'page_too_deep')
    ? 'page_too_deep'
    : 'invalid_parameter';
}

/** The query parameter of a member: `resource_id` for `resourceId`. */
export function paramOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
