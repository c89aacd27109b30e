import { expect, test } from 'vitest';
import { valueText } from './value-text.ts';

test('a text that took the place of a number or boolean is quoted, other texts are not', () => {
  expect([valueText(1, '1'), valueText('1', 1)]).toEqual(['1', '"1"']);
  expect([valueText('true', true), valueText('null', null)]).toEqual(['"true"', '"null"']);
  expect([valueText('30', undefined), valueText('VIP', null)]).toEqual(['"30"', 'VIP']);
  expect([valueText('1', '2'), valueText('1', '1'), valueText(1, 1)]).toEqual(['1', '1', '1']);
});
