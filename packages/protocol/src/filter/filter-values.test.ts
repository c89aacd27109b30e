import fc from 'fast-check';
import { expect, test } from 'vitest';
import { facetNames } from './event-filter.ts';
import { isRange, readFacet } from './filter-values.ts';

const text = fc.oneof(
  fc.string(),
  fc.emailAddress().map((email) => email.toUpperCase()),
  fc.uuid().map((uuid) => uuid.toUpperCase()),
  fc.constantFrom('true', 'create', 'security', '!false', 'İ@example.com', '!İ@example.com'),
);

test('what a facet made of a text is valid again and no longer changes', () => {
  fc.assert(
    fc.property(fc.constantFrom(...facetNames), text, (facet, given) => {
      const refusals: string[] = [];
      const once = readFacet(facet, [given], (message) => refusals.push(message));
      const texts = [...once.any, ...once.none.map((value) => `!${value}`)];
      expect(texts.length + refusals.length).toBe(1);
      expect(readFacet(facet, texts, (message) => refusals.push(message))).toEqual(once);
      expect(texts.length + refusals.length).toBe(1);
    }),
    { numRuns: 300 },
  );
});

test('wrong texts are told with their index, right ones beside them are kept', () => {
  const refused: (number | undefined)[] = [];
  const values = readFacet('category', ['security', 'x', '!y', '!integration'], (_, index) =>
    refused.push(index),
  );
  expect(refused).toEqual([1, 2]);
  expect(values).toEqual({ any: ['security'], none: ['integration'] });
});

test('too many texts are one refusal without an index', () => {
  const refused: (number | undefined)[] = [];
  readFacet('action', Array(21).fill('Bad'), (_, index) => refused.push(index));
  expect(refused).toEqual([undefined]);
});

test('a range needs its beginning before its end; half a range is one', () => {
  expect([{}, { from: 5 }, { to: 5 }, { from: 5, to: 6 }].every(isRange)).toBe(true);
  expect(
    [
      { from: 5, to: 5 },
      { from: 6, to: 5 },
    ].some(isRange),
  ).toBe(false);
});
