import type { AuditCapture, CapturedEvent } from './capture-audit.ts';

/** A value, some of its members, a RegExp for a text, or a matcher such as `expect.any(String)`. */
export type Expected<T> =
  | T
  | RegExp
  | { asymmetricMatch(value: unknown): boolean }
  | (T extends object ? { [K in keyof T]?: Expected<T[K]> } : never);

export type ExpectedEvent = { [K in keyof CapturedEvent]?: Expected<CapturedEvent[K]> };

/** A failed expectation, in a form that vitest, jest and node:test display. */
export class AuditAssertionError extends Error {
  override readonly name = 'AssertionError';
  readonly code = 'ERR_ASSERTION';
  readonly operator = 'expectAudited';
  readonly actual: unknown;
  readonly expected: unknown;

  constructor(message: string, actual: unknown, expected: unknown) {
    super(message);
    this.actual = actual;
    this.expected = expected;
  }
}

interface Difference {
  path: string;
  expected: string;
  got: string;
}

/**
 * The first captured event that contains everything in `expected`. Members that it does not name
 * may have any value; lists must have the same length. Throws AuditAssertionError with the nearest
 * event, its differences, and the refused events.
 */
export function expectAudited(capture: AuditCapture, expected: ExpectedEvent): CapturedEvent {
  const compared = capture.events.map((event, index) => {
    return { event, index, differences: differencesOf('', event, expected) };
  });
  const found = compared.find(({ differences }) => differences.length === 0);
  if (found !== undefined) return found.event;
  // The first of those with the fewest differences.
  const [nearest] = compared.toSorted((a, b) => a.differences.length - b.differences.length);
  const lines = [
    `no audit event matches ${shown(expected)}`,
    ...(nearest === undefined
      ? ['no event was recorded']
      : [
          `nearest of ${capture.events.length}: events[${nearest.index}], ${labelOf(nearest.event)}`,
          ...nearest.differences.map(lineOf),
        ]),
    ...capture.refusals.map(({ message }) => `refused: ${message}`),
  ];
  throw new AuditAssertionError(lines.join('\n'), nearest?.event, expected);
}

const lineOf = ({ path, expected, got }: Difference) =>
  `  ${path}: expected ${expected}, got ${got}`;

function labelOf({ action, resource, actor }: CapturedEvent): string {
  return `${action} ${resource.type} ${resource.name ?? resource.id} by ${actor.email ?? actor.id}`;
}

function differencesOf(path: string, value: unknown, expected: unknown): Difference[] {
  if (isMatcher(expected))
    return expected.asymmetricMatch(value) ? [] : [at(path, value, expected)];
  if (expected instanceof RegExp) {
    const matches = typeof value === 'string' && value.search(expected) !== -1;
    return matches ? [] : [at(path, value, expected)];
  }
  if (typeof expected !== 'object' || expected === null) {
    return Object.is(value, expected) ? [] : [at(path, value, expected)];
  }
  if (typeof value !== 'object' || value === null) return [at(path, value, expected)];
  if (Array.isArray(expected) || Array.isArray(value)) {
    const areLists = Array.isArray(expected) && Array.isArray(value);
    if (!areLists || expected.length !== value.length) return [at(path, value, expected)];
  }
  return Object.entries(expected).flatMap(([name, member]) => {
    const found: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    return differencesOf(path === '' ? name : `${path}.${name}`, found, member);
  });
}

function isMatcher(value: unknown): value is { asymmetricMatch(value: unknown): boolean } {
  return typeof value === 'object' && value !== null && 'asymmetricMatch' in value;
}

function at(path: string, value: unknown, expected: unknown): Difference {
  return { path: path === '' ? 'the event' : path, expected: shown(expected), got: shown(value) };
}

const shownMax = 300;

function shown(value: unknown): string {
  const text =
    JSON.stringify(value, (_, member) => {
      if (member instanceof RegExp || isMatcher(member)) return String(member);
      return typeof member === 'bigint' ? `${member}n` : member;
    }) ?? String(value);
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
