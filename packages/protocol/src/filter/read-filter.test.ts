import fc from 'fast-check';
import { expect, test } from 'vitest';
import { facetNames } from './facets.ts';
import { parseFilterBody, readFacet } from './read-filter.ts';

const uuid = '6DA45AC7-5db6-56fb-8c55-847471cb240c';

function problems(json: unknown, at?: string): string[] {
  const read = parseFilterBody(json, at);
  return 'problems' in read ? read.problems.map(({ path, code }) => `${path} ${code}`) : [];
}

test('each member is a value or an array, normalised, distinct and sorted', () => {
  const read = parseFilterBody({
    from: '2025-09-03',
    to: '2025-09-04T00:00:00+02:00',
    user: ['Zoe@Example.com', uuid, 'zoe@example.com'],
    action: '!create',
    resourceId: [uuid],
    crossTenant: true,
    category: ['security', 'data_access'],
  });
  expect(read).toEqual({
    filter: {
      from: Date.parse('2025-09-03T00:00:00Z'),
      to: Date.parse('2025-09-03T22:00:00Z'),
      user: { any: [uuid.toLowerCase(), 'zoe@example.com'], none: [] },
      action: { any: [], none: ['create'] },
      resourceId: { any: [uuid.toLowerCase()], none: [] },
      crossTenant: { any: ['true'], none: [] },
      category: { any: ['data_access', 'security'], none: [] },
    },
  });
});

test('booleans and their words say the same of crossTenant', () => {
  const wanted = { filter: { crossTenant: { any: ['false'], none: [] } } };
  for (const crossTenant of [false, 'false', [false], [false, 'false']]) {
    expect(parseFilterBody({ crossTenant })).toEqual(wanted);
  }
});

test('all problems come at once, each with its pointer below the place of the filter', () => {
  const read = problems(
    {
      resource_id: uuid,
      action: ['create', 'Not A Word', 7, null],
      user: true,
      category: [],
      resource: Array.from({ length: 21 }, () => 'queue'),
      from: '2025-02-30',
      to: 5,
    },
    '/filters',
  );
  expect(read.sort()).toEqual([
    ...['/filters/action/1 invalid_value', '/filters/action/2 invalid_type'],
    ...['/filters/action/3 invalid_type', '/filters/category too_few'],
    ...['/filters/from invalid_value', '/filters/resource too_many'],
    ...['/filters/resource_id unknown_field', '/filters/to invalid_value'],
    '/filters/user invalid_type',
  ]);
});

test.each([
  ['no word', '… !?'],
  ['more than 1,000 characters', 'a'.repeat(1_001)],
  ['more than 1,000 marks', `a${'\u0301'.repeat(1_000)}`],
  ['more than 20 words', Array(21).fill('a').join(' ')],
  ['more than 20 words in compatibility forms', '\ufdfa'.repeat(10)],
  ['half a character', 'zanzibar\ud800'],
  ['a control character', 'zan\0zibar'],
])('q with %s is refused', (_, q) => {
  expect(problems({ q })).toEqual(['/q invalid_value']);
});

test('white space around and between words does not count', () => {
  expect(parseFilterBody({ q: `${' '.repeat(5_000)}main\t\nmenu ` })).toEqual({
    filter: { q: { any: ['main menu'], none: [] } },
  });
});

test('a misspelt member is refused with the name that was probably meant', () => {
  const read = parseFilterBody({ 'resource/id': uuid });
  expect(read).toMatchObject({
    code: 'validation_failed',
    problems: [{ path: '/resource~1id', message: expect.stringContaining('resourceId') }],
  });
});

test('only an object is a filter, and an empty one asks for everything', () => {
  for (const json of [null, [], 'action=create', 1, true, undefined]) {
    expect(problems(json)).toEqual([' invalid_type']);
  }
  expect(parseFilterBody({})).toEqual({ filter: {} });
});

test('no JSON value makes it throw, and what is refused has between 1 and 50 problems', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.string(), { maxLength: 60 }), (value, names) => {
      for (const json of [value, Object.fromEntries(names.map((name) => [name, value]))]) {
        const read = parseFilterBody(json);
        if ('filter' in read) continue;
        expect(read.problems.length).toBeGreaterThan(0);
        expect(read.problems.length).toBeLessThanOrEqual(50);
      }
    }),
  );
});

const text = fc.oneof(
  fc.string(),
  fc.emailAddress().map((email) => email.toUpperCase()),
  fc.uuid().map((uuid) => uuid.toUpperCase()),
  fc.constantFrom('true', 'create', 'security', '!false', 'İ@example.com', '!İ@example.com'),
);

test('a text that a facet has normalized is valid again and no longer changes', () => {
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
  const [early, late] = ['2025-01-01T00:00:00.000Z', '2025-01-02T00:00:00.000Z'];
  const problems = (json: object) => {
    const parsed = parseFilterBody(json);
    return 'problems' in parsed
      ? parsed.problems.map(({ path, message }) => `${path} ${message}`)
      : [];
  };
  for (const [from, to] of [
    ['from', 'to'],
    ['receivedFrom', 'receivedTo'],
  ] as const) {
    expect(problems({ [from]: early, [to]: late })).toEqual([]);
    expect(problems({ [from]: late })).toEqual([]);
    const empty = [`/${to} must be later than ${from}`];
    expect(problems({ [from]: late, [to]: early })).toEqual(empty);
    expect(problems({ [from]: early, [to]: early })).toEqual(empty);
  }
});
