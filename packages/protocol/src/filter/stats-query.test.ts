import { expect, test } from 'vitest';
import { parseStatsQuery } from './stats-query.ts';

const read = (query: string) => parseStatsQuery(new URLSearchParams(query));

function refusal(text: string): string {
  const result = read(text);
  if (!('code' in result)) return 'accepted';
  return [result.code, ...result.problems.map(({ path }) => path)].join(' ');
}

test('groups keep the order asked for, separated or repeated; the zone is UTC by default', () => {
  const wanted = { query: { filter: {}, groupBy: ['user', 'day'], timeZone: 'UTC' } };
  expect(read('group_by=user,day')).toEqual(wanted);
  expect(read('group_by=user&group_by=day')).toEqual(wanted);
});

test("the list's filters and an IANA zone are read", () => {
  expect(read('group_by=hour&action=close&from=2025-09-03&time_zone=Asia/Kolkata')).toEqual({
    query: {
      filter: {
        from: Date.parse('2025-09-03T00:00:00Z'),
        action: { any: ['close'], none: [] },
      },
      groupBy: ['hour'],
      timeZone: 'Asia/Kolkata',
    },
  });
});

test.each([
  ['', 'group_by'],
  ['group_by=', 'group_by'],
  ['group_by=week', 'group_by'],
  ['group_by=user,action,resource', 'group_by'],
  ['group_by=user,user', 'group_by'],
  ['group_by=day&group_by=day', 'group_by'],
  ['group_by=day,hour', 'group_by'],
  ['group_by=user,', 'group_by'],
  ['group_by=user&time_zone=Mars/Olympus', 'time_zone'],
  ['group_by=user&time_zone=%2B02:00', 'time_zone'],
  ['group_by=user&time_zone=UTC&time_zone=UTC', 'time_zone'],
  ['group_by=user&from=2025-09-03&to=2025-09-03', 'to'],
])('"%s" is an invalid parameter', (text, path) => {
  expect(refusal(text)).toMatch(new RegExp(`^invalid_parameter( ${path})+$`));
});

test('parameters of the list that statistics do not have are unknown', () => {
  for (const name of ['page', 'cursor', 'limit', 'sort', 'order', 'include', 'after_sequence']) {
    expect(refusal(`group_by=user&${name}=1`)).toBe(`unknown_parameter ${name}`);
  }
});
