import { expect, test } from 'vitest';
import { oneOf, readParams, wholeNumber } from './query-params.ts';

const read = (query: string) => readParams(new URLSearchParams(query), ['a', 'b']);

test('values keep their order; a comma separates only where a list is read', () => {
  const reader = read('a=x,y&b=1&a=z');
  expect(reader.all('a')).toEqual(['x,y', 'z']);
  expect(reader.list('a', ['x', 'y', 'z'])).toEqual(['x', 'y', 'z']);
  expect(reader.one('b', 'a digit', Number)).toBe(1);
  expect(reader.refusal()).toBeNull();
});

test('repeated single, empty, unprintable and wrong values are problems of their parameter', () => {
  const reader = read('a=1&a=1&b=');
  expect(reader.one('a', 'a digit', Number)).toBeUndefined();
  const broken = readParams(
    [
      ['a', 'x\u0000'],
      ['b', '\ud800'],
    ],
    ['a', 'b'],
  );
  const wrong = read('a=x');
  expect(wrong.one('a', 'one of y', oneOf(['y']))).toBeUndefined();
  const paths = [reader, broken, wrong].map((each) => each.refusal()?.problems.map((p) => p.path));
  expect(paths).toEqual([['b', 'a'], ['a', 'b'], ['a']]);
});

test('an unknown name leads, whatever else is wrong', () => {
  const reader = read('c=1&a=');
  reader.refuse('b', 'is too deep', 'page_too_deep');
  expect(reader.refusal()?.code).toBe('unknown_parameter');
  expect(reader.refusal()?.problems).toHaveLength(3);
});

test('depth is the code only when nothing else is wrong', () => {
  const deep = read('a=1');
  deep.refuse('a', 'is too deep', 'page_too_deep');
  expect(deep.refusal()?.code).toBe('page_too_deep');
  deep.refuse('b', 'is wrong');
  expect(deep.refusal()?.code).toBe('invalid_parameter');
});

test('an address full of unknown names gets at most 50 problems, and no long name back', () => {
  const names = Array.from({ length: 5000 }, (_, index) => `${'ü'.repeat(500)}${index}=1`);
  const problems = read(names.join('&')).refusal()?.problems ?? [];
  expect(problems).toHaveLength(50);
  expect(problems.every(({ path }) => path.length <= 64)).toBe(true);
});

test('whole numbers are digits alone, within their bounds', () => {
  const parse = wholeNumber(0, 500);
  expect(['0', '7', '500'].map(parse)).toEqual([0, 7, 500]);
  const wrong = ['', '-1', '+1', '01', '1.0', '1e2', '0x1', ' 1', '501', '٣', '9'.repeat(400)];
  for (const text of wrong) expect(parse(text)).toBeNull();
});
