import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../testing/any-character.ts';
import { listParamNames, parseListQuery } from './list-query.ts';

const uuid = '6da45ac7-5db6-56fb-8c55-847471cb240c';
const read = (query: string) => parseListQuery(new URLSearchParams(query));

function query(text: string) {
  const result = read(text);
  if (!('query' in result)) throw new Error(JSON.stringify(result));
  return result.query;
}

/** The code of the refusal and the parameters it names. */
function refusal(text: string): string {
  const result = read(text);
  if (!('code' in result)) return 'accepted';
  return [result.code, ...result.problems.map(({ path }) => path)].join(' ');
}

test('a query without parameters is the newest fifty events, without extras', () => {
  expect(query('')).toEqual({
    filter: {},
    sort: 'timestamp',
    order: 'desc',
    limit: 50,
    include: { total: false, state: false },
  });
});

test('users and sequences ascend by default, times descend; order decides otherwise', () => {
  const order = (text: string) => query(text).order;
  expect(['sort=timestamp', 'sort=user', 'sort=sequence'].map(order)).toEqual([
    'desc',
    'asc',
    'asc',
  ]);
  expect(['order=asc', 'sort=user&order=desc'].map(order)).toEqual(['asc', 'desc']);
});

test('every parameter of a full query is read', () => {
  const text =
    'from=2025-09-03&to=2025-09-04T10:00:00%2B02:00&user=Ann@Example.COM&user=!' +
    `${uuid.toUpperCase()}&action=update&action=!create&resource=queue&resource_id=${uuid}` +
    '&cross_tenant=!true&category=security&page=2&limit=500&include=total,state';
  expect(query(text)).toEqual({
    filter: {
      from: Date.parse('2025-09-03T00:00:00Z'),
      to: Date.parse('2025-09-04T08:00:00Z'),
      user: { any: ['ann@example.com'], none: [uuid] },
      action: { any: ['update'], none: ['create'] },
      resource: { any: ['queue'], none: [] },
      resourceId: { any: [uuid], none: [] },
      crossTenant: { any: [], none: ['true'] },
      category: { any: ['security'], none: [] },
    },
    sort: 'timestamp',
    order: 'desc',
    page: 2,
    limit: 500,
    include: { total: true, state: true },
  });
});

test('cursor and after_sequence are handed on', () => {
  expect(query('cursor=a.b-c_d')).toMatchObject({ cursor: 'a.b-c_d' });
  expect(query('sort=sequence&after_sequence=0')).toMatchObject({ afterSequence: 0 });
});

test.each([
  ...['page=0', 'page=-1', 'page=1.5', 'page=01', 'page=1&page=2', 'limit=0', 'limit=501'],
  ...['limit=ten', 'order=up', 'order=DESC', 'sort=time', 'sort=user&sort=user', 'cursor='],
  ...['cursor=%00', 'include=', 'include=total,', 'include=everything', 'from=', 'from=yesterday'],
  ...['from=2025-09-03T10:00:00+02:00', 'from=2025-09-03&from=2025-09-03', 'user=', 'user=ann@'],
  ...['user=!', 'user=!!ann@example.com', 'user=ann%0A@example.com', 'user=%ED%A0%80@example.com'],
  ...['action=Create', 'action=create,update', 'action=a%00'],
  `action=${'a'.repeat(65)}`,
  "resource=queue'--",
  `resource=${'a'.repeat(65)}`,
  'resource_id=123',
  `resource_id={${uuid}}`,
  'cross_tenant=1',
  'cross_tenant=TRUE',
  'category=toString',
  'category=Security',
])('%s is an invalid parameter', (text) => {
  expect(refusal(text)).toBe(`invalid_parameter ${text.split('=')[0]}`);
});

test('a facet takes twenty values and no more', () => {
  const actions = (count: number) =>
    Array.from({ length: count }, (_, index) => `action=${index % 2 ? '!' : ''}a${index}`).join(
      '&',
    );
  expect(query(actions(20)).filter.action?.any).toHaveLength(10);
  expect(refusal(actions(21))).toBe('invalid_parameter action');
});

test.each([
  ['page=1&cursor=abc', 'page'],
  ['page=1&sort=sequence', 'page'],
  ['after_sequence=5', 'after_sequence'],
  ['after_sequence=5&sort=user', 'after_sequence'],
  ['sort=sequence&after_sequence=-1', 'after_sequence'],
  ['include=state', 'include'],
  [`include=state&resource_id=!${uuid}`, 'include'],
  [`include=state&resource_id=${uuid}&resource_id=${uuid.replace('6', '7')}`, 'include'],
  ['from=2025-09-03&to=2025-09-03', 'to'],
  ['from=2025-09-04&to=2025-09-03', 'to'],
  ['outcome=success&outcome=!success', 'outcome'],
  ['user=Ana@example.com&user=bo@example.com&user=!ana@example.com', 'user'],
  ['cross_tenant=true&cross_tenant=!true', 'cross_tenant'],
  ['q=greeting&q=!greeting', 'q'],
])('%s contradicts itself', (text, path) => {
  expect(refusal(text)).toBe(`invalid_parameter ${path}`);
});

test('pages reach to the ten-thousandth event; beyond, the message names the cursor', () => {
  expect(query('page=20&limit=500').page).toBe(20);
  expect(query('page=200').page).toBe(200);
  for (const text of ['page=21&limit=500', 'page=201', `page=${'9'.repeat(300)}`]) {
    expect(refusal(text)).toBe('page_too_deep page');
    expect(read(text)).toMatchObject({
      problems: [{ message: expect.stringContaining('cursor') }],
    });
  }
});

test('an unknown parameter is named first, with what was probably meant; all problems come', () => {
  expect(refusal('page=9999999&actoin=update&limit=x')).toBe('unknown_parameter actoin limit page');
  expect(read('actoin=update')).toMatchObject({
    problems: [{ code: 'unknown_parameter', message: expect.stringContaining('action') }],
  });
  expect(refusal('page=9999999&order=x')).toBe('invalid_parameter order page');
  for (const name of [
    ...['User', 'resourceId', 'group_by', '__proto__', '', ' action', 'filter[action]'],
  ]) {
    expect(refusal(new URLSearchParams([[name, 'x']]).toString())).toMatch(/^unknown_parameter/);
  }
});

test('a value with a raw plus is refused with the way to write it', () => {
  for (const text of ['user=ana+x@example.com', 'from=2025-09-03T10:00:00+02:00', 'limit=+5']) {
    const result = read(text);
    const [message = ''] = 'problems' in result ? result.problems.map((each) => each.message) : [];
    expect(message).toMatch(/^must be .* \(a raw \+ is a space: write it as %2B\)$/);
  }
  expect(query('user=ana%2Bx@example.com').filter.user?.any).toEqual(['ana+x@example.com']);
});

test('each bad value of a facet is told by its place', () => {
  const result = read('action=ok&action=Bad&action=!Worse');
  const messages = 'problems' in result ? result.problems.map(({ message }) => message) : [];
  expect(messages).toEqual([
    expect.stringMatching(/^value 2 must be/),
    expect.stringMatching(/^value 3 must be/),
  ]);
});

test('no parameters make it throw, and every given filter either constrains or is refused', () => {
  const name = fc.oneof(fc.constantFrom(...listParamNames), fc.string());
  const value = fc.oneof(fc.string(), fc.string({ unit: anyCharacter }), fc.constant('update'));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (params) => {
      const result = parseListQuery(params);
      if ('problems' in result) {
        expect(result.problems.length).toBeGreaterThan(0);
        return;
      }
      const actions = params.filter(([given]) => given === 'action').length;
      const { any = [], none = [] } = result.query.filter.action ?? {};
      expect(any.length + none.length > 0).toBe(actions > 0);
    }),
    { numRuns: 300 },
  );
});
