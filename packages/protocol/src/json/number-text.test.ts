import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keepsValue } from './number-text.ts';

test('a number that a double holds keeps its value, however it is written', () => {
  for (const literal of ['0', '-0', '0e9', '0.10', '1.50', '15e-1', '1E+2', '9007199254740991']) {
    expect(keepsValue(literal), literal).toBe(true);
  }
  fc.assert(
    fc.property(fc.double({ min: -1e15, max: 1e15, noNaN: true }), (value) => {
      expect(keepsValue(JSON.stringify(value))).toBe(true);
      expect(keepsValue(value.toExponential())).toBe(true);
    }),
  );
});

test('a number that a double would change is found, and every integer beyond 2^53', () => {
  const literals = [
    ...['99999999999999.991', '900719925.47409931', '0.12345678901234567890', '1e-400', '1e400'],
    ...['9007199254740992', '-9007199254740993', '1e22', `1.${'0'.repeat(100)}1`, '4.9e-324'],
  ];
  for (const literal of literals) expect(keepsValue(literal), literal).toBe(false);
});
