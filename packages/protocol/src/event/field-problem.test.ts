import { expect, test } from 'vitest';
import { escapeToken, pointerOf, problemsText } from './field-problem.ts';

test('a pointer escapes tilde and slash so that it names exactly one member', () => {
  expect(pointerOf('a/b', 'm~n', '~1', '')).toBe('/a~1b/m~0n/~01/');
  expect(pointerOf('events', 3, 'diff')).toBe('/events/3/diff');
  expect(pointerOf()).toBe('');
});

test('a pointer holds no lone surrogate and no key longer than 256 characters', () => {
  expect(escapeToken('a\ud800')).toBe('a\ufffd');
  expect(escapeToken('k'.repeat(10_000))).toBe('k'.repeat(256));
  expect(escapeToken(`${'k'.repeat(255)}😀`).isWellFormed()).toBe(true);
});

test('a refusal tells its first reasons in one text, and how many more there are', () => {
  const problem = { path: '/actor/id', code: 'invalid_format', message: 'is not a UUID' };
  const whole = { path: '', code: 'invalid_type', message: 'must be an object' };
  expect(problemsText([problem, whole])).toBe('/actor/id is not a UUID; must be an object');
  expect(problemsText(Array(8).fill(whole))).toMatch(/^(must be an object; ){5}and 3 more$/);
  const deep = { ...problem, path: pointerOf('k'.repeat(98), '😀', 'id') };
  expect(problemsText([deep])).toBe(`/${'k'.repeat(98)}/… is not a UUID`);
});
