import { expect, test } from 'vitest';
import { FailedAttempts } from './failed-attempts.ts';

test('the thirty-first failure within a minute says how long to wait, for its address alone', () => {
  const failures = new FailedAttempts();
  for (let n = 0; n < 30; n++) expect(failures.add('192.0.2.1', 1_000 * n)).toBe(null);
  expect(failures.add('192.0.2.1', 30_000)).toBe(30);
  expect(failures.add('192.0.2.2', 30_000)).toBe(null);
  expect(failures.add('192.0.2.1', 59_999)).toBe(1);
  expect(failures.add('192.0.2.1', 60_000)).toBe(null);
});

test('many addresses do not fill the memory: who failed longest ago is forgotten', () => {
  const failures = new FailedAttempts();
  for (let n = 0; n < 40; n++) failures.add('noisy', 0);
  for (let n = 0; n < 10_000; n++) failures.add(`other ${n}`, 0);
  expect(failures.add('noisy', 0)).toBe(null);
});
