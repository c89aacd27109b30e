import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pointerOf } from '../event/field-problem.ts';
import { anyCharacter } from '../testing/any-character.ts';
import { parseStrictJson } from './strict-json.ts';

const duplicatesIn = (text: string) => parseStrictJson(text).duplicateKeys;

// A document as written: members as a list, so that a name can occur twice, in any spelling.
interface Written {
  scalar?: string;
  elements?: Written[];
  members?: { name: string; spelling: string; value: Written }[];
}

const space = fc.constantFrom('', ' ', '\n', '\t\r ');
const scalar = fc.constantFrom(
  ...['1', 'null', '-0', '1.50', '1E+2', '-2e-3', 'true', 'false'],
  ...['""', '"a"', '"\\\\"', '"\\":"', '" , : {"', '"\\u0022"', '"\\"}"', '"\\ud83d\\ude00"'],
);
const name = fc.constantFrom('a', 'b', '', '__proto__', 'a/b', '~', '\\', '"', '\\":', 'é', '😀');
const spelled = name.chain((text) => {
  const escaped = Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`,
  );
  const spelling = fc.constantFrom(JSON.stringify(text), `"${escaped.join('')}"`);
  return fc.record({ name: fc.constant(text), spelling });
});

const { written } = fc.letrec<{ written: Written }>((tie) => ({
  written: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({ scalar }),
    fc.record({ elements: fc.array(tie('written'), { maxLength: 3 }) }),
    fc.record({
      members: fc.array(
        fc.tuple(spelled, tie('written')).map(([key, value]) => ({ ...key, value })),
        { maxLength: 4 },
      ),
    }),
  ),
}));

function render({ scalar, elements, members }: Written, gap: string): string {
  if (elements) return `[${gap}${elements.map((e) => render(e, gap)).join(`,${gap}`)}]${gap}`;
  if (!members) return `${scalar}`;
  const texts = members.map((m) => `${m.spelling}${gap}:${gap}${render(m.value, gap)}`);
  return `{${gap}${texts.join(`${gap},${gap}`)}${gap}}`;
}

function naiveDuplicates({ elements, members }: Written, path: string): string[] {
  if (elements) return elements.flatMap((e, i) => naiveDuplicates(e, path + pointerOf(i)));
  return (members ?? []).flatMap((member, index, all) => {
    const own = path + pointerOf(member.name);
    const again = all.slice(0, index).some((earlier) => earlier.name === member.name);
    return [...(again ? [own] : []), ...naiveDuplicates(member.value, own)];
  });
}

function naiveValue({ scalar, elements, members }: Written): unknown {
  if (elements) return elements.map(naiveValue);
  if (!members) return JSON.parse(`${scalar}`);
  return Object.fromEntries(members.map((member) => [member.name, naiveValue(member.value)]));
}

test('every duplicate is located and every value is right, in any spelling and nesting', () => {
  fc.assert(
    fc.property(written, space, (document, gap) => {
      const repetitions = naiveDuplicates(document, '');
      fc.pre(repetitions.length <= 50);
      const result = parseStrictJson(render(document, gap));
      expect(result.duplicateKeys.sort()).toEqual([...new Set(repetitions)].sort());
      expect(result.value).toEqual(naiveValue(document));
    }),
    { numRuns: 500 },
  );
});

const isBeyond = (value: unknown) => Number.isInteger(value) && !Number.isSafeInteger(value);

test('any JSON value survives being written and read, integers beyond 2^53 as texts', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
      const text = JSON.stringify(value, null, 1);
      const result = parseStrictJson(text);
      const kept = JSON.stringify(value, (_, each) => (isBeyond(each) ? `${each}` : each), 1);
      expect(JSON.stringify(result.value, null, 1)).toBe(kept);
      expect(result.numbersAsText.length > 0).toBe(kept !== text);
      expect(result.duplicateKeys).toEqual([]);
    }),
  );
});

test('a number that a double would change is kept as its text, wherever it stands', () => {
  const literals = ['99999999999999.991', '1e-400', '12345678901234567890', '-1e400'];
  const text = `{"a":[1.5,{"b":${literals[0]}},${literals[1]}],"c":"${literals[2]}","d":${literals[2]}}`;
  const value = { a: [1.5, { b: literals[0] }, literals[1]], c: literals[2], d: literals[2] };
  for (const source of [text, new TextEncoder().encode(text)]) {
    expect(parseStrictJson(source)).toEqual({
      value,
      duplicateKeys: [],
      numbersAsText: ['/a/1/b', '/a/2', '/d'],
    });
  }
  expect(parseStrictJson(`${literals[3]}`)).toMatchObject({ value: '-1e400', numbersAsText: [''] });
  expect(parseStrictJson(`[${'7'.repeat(100_000)}]`).value).toEqual(['7'.repeat(100_000)]);
  expect(parseStrictJson(`[${'1e22,'.repeat(200)}0]`).numbersAsText).toHaveLength(50);
});

test('an escaped name is never taken for a name that an earlier text had at its place', () => {
  for (const earlier of ['{"h":1,"\\\\":0}', '{"i":1,"a\\\\":0}', '{"j":1,"\\\\u":0}']) {
    parseStrictJson(earlier);
  }
  const namesIn = (text: string) => Object.keys(parseStrictJson(text).value as object);
  expect(namesIn('{"h":1,"\\"":2}')).toEqual(['h', '"']);
  expect(namesIn('{"h":1,"\\u0061":2,"\\n":3}')).toEqual(['h', 'a', '\n']);
  expect(namesIn('{"i":1,"a\\n":2}')).toEqual(['i', 'a\n']);
  expect(namesIn('{"j":"\\\\","\\u0061b":2}')).toEqual(['j', 'ab']);
});

test('malformed text throws as JSON.parse does', () => {
  for (const text of ['', '{', '{"a":1,}', '"\\', '[1 2]', '{"a" 1}', '\ufeff{}', 'nul']) {
    expect(() => parseStrictJson(text)).toThrow(SyntaxError);
  }
});

test('__proto__ is an ordinary member, once and twice', () => {
  const once = parseStrictJson('{"__proto__":{"x":1},"constructor":1}');
  expect(once.duplicateKeys).toEqual([]);
  expect(Object.keys(once.value as object)).toEqual(['__proto__', 'constructor']);
  expect(duplicatesIn('[{"__proto__":1,"\\u005f_proto__":2}]')).toEqual(['/0/__proto__']);
  const twice = parseStrictJson('{"__proto__":{"polluted":1},"a":1,"a":[3]}').value as object;
  expect(Object.getPrototypeOf(twice)).toBe(Object.prototype);
  expect(JSON.stringify(twice)).toBe('{"__proto__":{"polluted":1},"a":[3]}');
});

test('a name written many times is one duplicate, and at most 50 are listed', () => {
  expect(duplicatesIn(`{${'"a":1,'.repeat(100_000)}"a":1}`)).toEqual(['/a']);
  const pairs = Array.from({ length: 1_000 }, (_, i) => `"k${i}":1,"k${i}":2`);
  expect(duplicatesIn(`{${pairs.join()}}`)).toEqual(pairs.slice(0, 50).map((_, i) => `/k${i}`));
});

test('text may nest 200 levels deep, and a million levels are refused at once', () => {
  const around = (inner: string, depth: number) => '['.repeat(depth) + inner + ']'.repeat(depth);
  expect(duplicatesIn(around('{"a":1}', 199))).toEqual([]);
  expect(duplicatesIn(around('{"a":1,"a":2}', 199))).toEqual(['/0'.repeat(64)]);
  expect(() => parseStrictJson(around('{"a":1}', 200))).toThrow(SyntaxError);
  expect(() => parseStrictJson(around('', 1_000_000))).toThrow(SyntaxError);
});

test('bytes are read as their text is, and bytes that are no UTF-8 are refused', () => {
  const text = '{"ä":"€","ä":"\\u0061"}';
  expect(parseStrictJson(new TextEncoder().encode(text))).toEqual(parseStrictJson(text));
  expect(() => parseStrictJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(TypeError);
});

test('long runs of backslashes and quotes are read in linear time', () => {
  const text = JSON.stringify({ [`${'\\"'.repeat(500_000)}`]: '\\'.repeat(1_000_000) });
  expect(duplicatesIn(text)).toEqual([]);
  expect(duplicatesIn(`[{"b":1,"b":2},${text}]`)).toEqual(['/0/b']);
});
