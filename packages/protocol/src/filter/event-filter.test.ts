import fc from 'fast-check';
import { expect, test } from 'vitest';
import { categories } from '../event/catalogue-data.ts';
import { contextTexts } from '../event/context.ts';
import { parseBodyLine, withheldSegments, withholdableSegments } from '../event/event-body.ts';
import { actorTypes, outcomes } from '../event/event-fields.ts';
import { withholdSegments } from '../event/withheld-body.ts';
import { bodyLine, everyContext, plainEvent, record, sha } from '../testing/recorded-log.ts';
import {
  decidingSegments,
  type EventFilter,
  filterKey,
  filterToJson,
  filterToParams,
  matcherOf,
  matchOf,
} from './event-filter.ts';
import { type FacetName, facetNames, facetOf } from './facets.ts';
import { parseListQuery } from './list-query.ts';
import { parseFilterBody, storedFilter } from './read-filter.ts';
import { wordsOf } from './words.ts';

const email = fc.emailAddress().map((text) => text.toLowerCase());
const word = fc.stringMatching(/^[a-z]([a-z0-9]{0,20}_[a-z0-9]{1,20}){0,1}$/);
/** Values of which none is both wanted and excluded. */
const values = (value: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.uniqueArray(value, { minLength: 1, maxLength: 20 }), fc.nat(20))
    .map(([all, wanted]) => ({ any: all.slice(0, wanted), none: all.slice(wanted) }));

const validValue: Record<FacetName, fc.Arbitrary<string>> = {
  user: fc.oneof(
    fc.uuid(),
    email.filter((text) => !text.startsWith('!')),
  ),
  action: word,
  resource: word,
  resourceId: fc.uuid(),
  hasReason: fc.constantFrom('true', 'false'),
  crossTenant: fc.constantFrom('true', 'false'),
  category: fc.constantFrom(...categories),
  outcome: fc.constantFrom(...outcomes),
  actorType: fc.constantFrom(...actorTypes),
  onBehalfOf: fc.oneof(fc.uuid(), fc.constantFrom('user_123', 'ana@example.com')),
  correlationId: fc.constantFrom('req-1', 'a b', 'ü'),
  target: fc.oneof(fc.uuid(), fc.constantFrom('user_123', 'ü')),
  traceId: fc.constantFrom('0af7651916cd43dd8448eb211c80319c', 'b'.repeat(32)),
  q: fc.constantFrom('Main menu', 'ünï 10.1.2.3', 'a'),
  ip: fc.oneof(fc.ipV4(), fc.constantFrom('2001:db8::1', '192.0.2.1')),
};

const mapValues = <T>(make: (facet: FacetName) => T) =>
  Object.fromEntries(facetNames.map((facet) => [facet, make(facet)])) as {
    [facet in FacetName]: T;
  };

/** Valid filters, their values distinct but in any order. */
const anyFilter: fc.Arbitrary<EventFilter> = fc.record(
  {
    from: fc.integer({ min: 0, max: 10 ** 12 }),
    to: fc.integer({ min: 10 ** 12 + 1, max: 10 ** 13 }),
    ...mapValues((facet) => values(validValue[facet])),
  },
  { requiredKeys: [] },
);

function sorted(filter: EventFilter): EventFilter {
  const copy: EventFilter = { ...filter };
  for (const facet of facetNames) {
    const given = filter[facet];
    if (given) copy[facet] = { any: [...given.any].sort(), none: [...given.none].sort() };
  }
  return copy;
}

test('a filter written as parameters is read back as the same filter', () => {
  fc.assert(
    fc.property(anyFilter, (filter) => {
      const address = new URLSearchParams(filterToParams(filter)).toString();
      const read = parseListQuery(new URLSearchParams(address));
      expect(read).toMatchObject({ query: { filter: sorted(filter) } });
      expect('query' in read && Object.keys(read.query.filter).sort()).toEqual(
        Object.keys(filter).sort(),
      );
    }),
  );
});

test('the same filter in a body is the same filter', () => {
  fc.assert(
    fc.property(anyFilter, (filter) => {
      const body: Record<string, unknown> = {};
      if (filter.from !== undefined) body.from = new Date(filter.from).toISOString();
      if (filter.to !== undefined) body.to = new Date(filter.to).toISOString();
      for (const facet of facetNames) {
        const { any = [], none = [] } = filter[facet] ?? {};
        const texts = [...any, ...none.map((value) => `!${value}`)];
        if (texts.length > 0) body[facet] = texts.length === 1 ? texts[0] : texts;
      }
      expect(parseFilterBody(JSON.parse(JSON.stringify(body)))).toEqual({ filter: sorted(filter) });
    }),
  );
});

test('a filter that is stored is read back as it was', () => {
  fc.assert(
    fc.property(anyFilter, (filter) => {
      expect(storedFilter(JSON.stringify(filterToJson(filter)))).toEqual(sorted(filter));
    }),
  );
  expect(() => storedFilter('{"action":"Not A Word"}')).toThrow('/action must be');
  const both = { any: ['create'], none: ['create'] };
  expect(storedFilter('{"action":["create","!create"]}')).toEqual({ action: both });
});

test('equal filters have one key, whatever the order and repetition of their values', () => {
  fc.assert(
    fc.property(anyFilter, (filter) => {
      const shuffled: EventFilter = { ...filter };
      for (const facet of facetNames) {
        const given = filter[facet];
        if (!given) continue;
        const none = [...given.none, ...given.none].reverse();
        shuffled[facet] = { any: [...given.any].reverse(), none };
      }
      expect(filterKey(shuffled)).toBe(filterKey(filter));
    }),
  );
});

test('different filters have different keys', () => {
  fc.assert(
    fc.property(anyFilter, anyFilter, (a, b) => {
      const equal = JSON.stringify(filterToParams(a)) === JSON.stringify(filterToParams(b));
      expect(filterKey(a) === filterKey(b)).toBe(equal);
    }),
  );
  const wanted = { any: ['update'], none: [] };
  const keys = [{}, { action: wanted }, { resource: wanted }, { from: 0 }, { to: 0 }].map(
    filterKey,
  );
  keys.push(filterKey({ action: { any: [], none: ['update'] } }));
  expect(new Set(keys).size).toBe(keys.length);
});

test('no constraint is no parameter', () => {
  expect(filterToParams({})).toEqual([]);
  expect(filterToParams({ action: { any: [], none: [] } })).toEqual([]);
});

test('the canonical order is the range, then the facets, wanted values before excluded ones', () => {
  const params = filterToParams({
    category: { any: ['security'], none: [] },
    user: { any: [], none: ['b@example.com', 'a@example.com'] },
    action: { any: ['update'], none: ['create'] },
    to: 86_400_000,
    from: 0,
  });
  expect(params).toEqual([
    ['from', '1970-01-01T00:00:00.000Z'],
    ['to', '1970-01-02T00:00:00.000Z'],
    ['user', '!a@example.com'],
    ['user', '!b@example.com'],
    ['action', 'update'],
    ['action', '!create'],
    ['category', 'security'],
  ]);
});

/** Two events with all that filters compare, and two that lack it. */
const recorded = record([
  plainEvent(0, { reason: 'Ticket 1', actorRole: 'superadmin', crossTenant: true }),
  plainEvent(1, contextTexts(everyContext)),
  plainEvent(2, { action: 'login_failed', actorEmail: null, actorIp: null }),
  plainEvent(3),
]).map(bodyLine);

const events = recorded.map((line) => parseBodyLine(line).event);

/** Filters by one or two values that some of the events have. */
const closeFilter = fc
  .subarray(facetNames, { minLength: 1, maxLength: 2 })
  .chain((facets): fc.Arbitrary<EventFilter> => {
    const ownValues = (facet: FacetName) => {
      const own = events.flatMap((event) => facetOf(facet).of(event));
      const value = fc.constantFrom(...own.filter((each) => each !== null));
      return value.chain((each) =>
        fc.constantFrom({ any: [each], none: [] }, { any: [], none: [each] }),
      );
    };
    const all = fc.record(Object.fromEntries(facets.map((facet) => [facet, ownValues(facet)])));
    return all.map((filter) => filter as EventFilter);
  });

test('a withheld segment leaves a match open or decided, and the deciding segments decide it', () => {
  const lines = fc.constantFrom(...recorded);
  const withheld = fc.subarray([...withholdableSegments]);
  const verdicts = new Set<boolean | null>();
  fc.assert(
    fc.property(lines, withheld, closeFilter, (line, segments, filter) => {
      const left = parseBodyLine(withholdSegments(sha, line, segments));
      const verdict = matchOf(left.event, filter, withheldSegments(left));
      verdicts.add(verdict);
      const whole = matcherOf(parseBodyLine(line).event)(filter);
      if (verdict !== null) expect(verdict).toBe(whole);
      const deciding = decidingSegments(filter);
      if (!segments.some((name) => deciding.has(name))) expect(verdict).toBe(whole);
    }),
    { numRuns: 300 },
  );
  expect(verdicts).toEqual(new Set([true, false, null]));
});

test('many events are compared with a query of which the words are found once', () => {
  const [event] = recorded.map((line) => parseBodyLine(line).event);
  if (event === undefined) throw new Error('nothing is recorded');
  const known = new Map<string, string[]>();
  let found = 0;
  const wordsOfQuery = (query: string) => {
    const words = known.get(query) ?? wordsOf(query);
    found += known.has(query) ? 0 : 1;
    known.set(query, words);
    return words;
  };
  const filter = { q: { any: ['no such words', 'neither these'], none: [] } };
  for (let nth = 0; nth < 10; nth++) expect(matcherOf(event, wordsOfQuery)(filter)).toBe(false);
  expect(found).toBe(2);
});
