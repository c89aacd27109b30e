import { expect, test } from 'vitest';
import { Params } from './filter-sql.store.ts';
import { ofItsRange } from './prepared-statement.ts';

const [low, high] = [
  '0190a000-0000-0000-0000-000000000000',
  '0190b000-0000-0000-0000-000000000000',
];

function statement() {
  const params = new Params();
  const text = [`id >= ${params.bound(low)}`, `action = ${params.add('login')}`];
  text.push(`id < ${params.bound(high)}::uuid`, `kind = $2`, `ip = ${params.add('::1')}`);
  return [text.join(' AND '), params] as const;
}

test('a statement of its range has the bounds of ids as constants, and all else as parameters', () => {
  expect(ofItsRange(...statement())).toEqual({
    text: `id >= '${low}' AND action = $1 AND id < '${high}'::uuid AND kind = $1 AND ip = $2`,
    values: ['login', '::1'],
  });
});

test('text that is no UUID never becomes a constant', () => {
  const params = new Params();
  const text = `id < ${params.bound("' OR true --")}`;
  expect(() => ofItsRange(text, params)).toThrow('no UUID');
});
