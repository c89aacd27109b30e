import { facetNames } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  changed,
  type EventSearch,
  emptySearch,
  eventSearchParams,
  excluding,
  filterAt,
  frozen,
  onlyValue,
  type Pairs,
  parseEventSearch,
  withoutFacet,
} from './event-search.ts';
import { listColumns } from './list-view.ts';
import { presets } from './time-range.ts';

const now = Date.UTC(2025, 10, 20, 12);
const day = 86_400_000;

/** The address as a browser keeps it, and what the panel reads from it. */
function throughAddress(search: EventSearch) {
  const text = new URLSearchParams(eventSearchParams(search) as [string, string][]).toString();
  return parseEventSearch([...new URLSearchParams(text)]);
}

const values = (value: fc.Arbitrary<string>) =>
  fc
    .uniqueArray(value, { minLength: 1, maxLength: 6 })
    .map((all) => ({ any: all.slice(0, 3).sort(), none: all.slice(3).sort() }));
const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,20}[a-z]$/).filter((text) => !/__/.test(text));
const moment = fc.integer({ min: 0, max: 4e12 });

const searches: fc.Arbitrary<EventSearch> = fc
  .record({
    facets: fc.record(
      {
        action: values(word),
        resource: values(word),
        resourceId: values(fc.uuid()),
        user: values(
          fc.oneof(fc.uuid(), fc.constantFrom('ana@example.com', 'joão@exemplo.com.br')),
        ),
        category: values(fc.constantFrom('security', 'integration', 'configuration')),
        crossTenant: fc.constant({ any: ['true'], none: [] }),
      },
      { requiredKeys: [] },
    ),
    range: fc.oneof(
      fc.constantFrom(...presets).map((preset) => ({ kind: 'last' as const, preset })),
      fc.tuple(fc.constantFrom(...presets), moment).map(([preset, at]) => ({
        kind: 'last' as const,
        preset,
        at,
      })),
      fc.tuple(moment, fc.integer({ min: 1, max: 9e9 })).map(([from, span]) => ({
        kind: 'between' as const,
        from,
        to: from + span,
      })),
      moment.map((from) => ({ kind: 'between' as const, from })),
    ),
    sort: fc.constantFrom('timestamp', 'user'),
    order: fc.constantFrom('asc', 'desc'),
    page: fc.integer({ min: 1, max: 500 }),
  })
  .chain((search) =>
    fc
      .record(
        {
          cursor: fc.stringMatching(/^[\w-]{10,40}$/),
          zone: fc.constantFrom('utc', 'local', 'tenant'),
          view: fc.oneof(
            fc.record({ density: fc.constantFrom('normal', 'compact') }),
            fc.record({ columns: fc.subarray([...listColumns], { minLength: 1 }) }),
          ),
        },
        { requiredKeys: [] },
      )
      .map((rest) => ({ ...search, ...rest }) as EventSearch),
  );

test('every search survives its own address', () => {
  fc.assert(
    fc.property(searches, (search) => {
      expect(throughAddress(search)).toEqual({ search });
    }),
  );
});

test('an address that says nothing is the last 30 days, newest first, and the other way round', () => {
  expect(parseEventSearch([])).toEqual({ search: emptySearch });
  expect(eventSearchParams(emptySearch)).toEqual([]);
});

test('a misspelt or impossible parameter is a problem, never a wider search', () => {
  const wrong: Pairs[] = [
    [['actoin', 'delete']],
    [['last', '2w']],
    [['at', 'yesterday']],
    [['zone', 'mars']],
    [['columns', 'user,secret']],
    [['columns', '']],
    [['density', 'tight']],
    [['resource_id', 'x']],
    [
      ['from', '2025-01-02'],
      ['to', '2025-01-01'],
    ],
    [['cross_tenant', 'maybe']],
  ];
  for (const pairs of wrong) {
    const parsed = parseEventSearch(pairs);
    expect('problems' in parsed && parsed.problems.map(({ path }) => path)).toContain(
      pairs.at(-1)?.[0],
    );
  }
});

test('a copied link covers the same moments whenever it is opened', () => {
  const search: EventSearch = { ...emptySearch, range: { kind: 'last', preset: '24h' } };
  const copied = throughAddress(frozen(search, now));
  const later = now + 40 * day;
  expect('search' in copied && filterAt(copied.search, later)).toEqual({
    from: now - day,
    to: now,
  });
  expect(filterAt(search, later)).toEqual({ from: later - day, to: later });
});

test('paging holds a relative range still, so that its cursor goes on fitting', () => {
  const first = filterAt(emptySearch, now);
  const second: EventSearch = {
    ...emptySearch,
    range: { kind: 'last', preset: '30d', at: now },
    cursor: 'c',
    page: 2,
  };
  expect(filterAt(second, now + 5_000)).toEqual(first);
});

test('other criteria begin at the first page, with a range that moves again', () => {
  const deep: EventSearch = {
    ...emptySearch,
    range: { kind: 'last', preset: '7d', at: now },
    cursor: 'c',
    page: 9,
    zone: 'utc',
  };
  expect(changed(deep, { facets: onlyValue({}, 'action', 'delete') })).toEqual({
    ...emptySearch,
    facets: { action: { any: ['delete'], none: [] } },
    range: { kind: 'last', preset: '7d' },
    zone: 'utc',
  });
});

test('a value is wanted or excluded, not both, and a filter without values is no filter', () => {
  for (const facet of facetNames) {
    const wanted = onlyValue({}, facet, 'x');
    expect(excluding(wanted, facet, 'x')).toEqual({ [facet]: { any: [], none: ['x'] } });
    expect(withoutFacet(wanted, facet)).toEqual({});
  }
});
