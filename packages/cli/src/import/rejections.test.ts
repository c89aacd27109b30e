import { expect, test } from 'vitest';
import { RejectionGroups } from './rejections.ts';

const lineOf = (number: number, text: string) => {
  return { number, bytes: Buffer.from(text), tooLong: false };
};
const problem = (path: string) => ({ path, code: 'required', message: 'is required' });
const refusal = (...paths: string[]) => {
  return { code: 'validation_failed', reason: 'all of it', errors: paths.map(problem) } as const;
};

test('lines are grouped by path and code, the largest group first, with one line of each', () => {
  const groups = new RejectionGroups();
  groups.add(lineOf(3, 'not\u001bjson'), { code: 'malformed_json', reason: 'is no JSON' });
  groups.add(lineOf(5, `{"a":"${'x'.repeat(200)}"}`), refusal('/action', '/actor/role'));
  groups.add(lineOf(9, '{"b":1}'), refusal('/action'));
  expect(groups.texts).toEqual([
    'rejected, by path and code:',
    '  2 × /action required: is required',
    `    line 5: {"a":"${'x'.repeat(93)}…`,
    '  1 × malformed_json: is no JSON',
    '    line 3: not⟨U+001B⟩json',
    '  1 × /actor/role required: is required',
    `    line 5: {"a":"${'x'.repeat(93)}…`,
  ]);
  expect(groups.all.map(({ path, lines }) => [path, lines])).toEqual([
    ['/action', [5, 9]],
    ['', [3]],
    ['/actor/role', [5]],
  ]);
});

test('a file with any number of paths has a thousand groups, and one for all others', () => {
  const groups = new RejectionGroups();
  for (let n = 1; n <= 3_000; n += 1) groups.add(lineOf(n, '{}'), refusal(`/metadata/${n}`));
  const [largest] = groups.all;
  expect(groups.all).toHaveLength(1_001);
  expect(largest).toMatchObject({ path: 'other paths', count: 2_000, lines: { length: 1_000 } });
  expect(groups.texts.slice(-1)).toEqual(['  and 981 more groups: --json has them']);
});
