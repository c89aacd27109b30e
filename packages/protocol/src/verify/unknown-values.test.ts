import { expect, test } from 'vitest';
import { unknownOf, unknownPairs, type ValueTotal } from './unknown-values.ts';

const total = (
  filter: string,
  value: string,
  count: number,
  relation: 'eq' | 'gte' = 'eq',
): ValueTotal => ({ filter, value, events: { value: count, relation } });

test('a value without any event is unknown, beside others that have some', () => {
  const totals = [
    ...[total('user', 'bo', 2), total('user', 'rhea', 0)],
    ...[total('resource', 'recording', 9), total('resourceId', '3205', 0)],
  ];
  const unknown = { user: ['rhea'], resourceId: ['3205'] };
  expect(unknownOf(totals, 0)).toEqual(unknown);
  expect(unknownPairs(unknown)).toEqual([
    ['user', 'rhea'],
    ['resourceId', '3205'],
  ]);
});

test('the only value of a filter is known if the search found events, which expire', () => {
  expect(unknownOf([total('user', 'bo', 0), total('resource', 'call', 0)], 3)).toEqual({});
  const two = [total('user', 'bo', 0), total('user', 'rhea', 0)];
  expect(unknownOf(two, 3)).toEqual({ user: ['bo', 'rhea'] });
});

test('a value that could not be counted to the end is not called unknown', () => {
  expect(unknownOf([total('user', 'bo', 0, 'gte')], 0)).toEqual({});
});
