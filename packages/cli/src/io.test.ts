import { IndelibleError, UnreachableError } from '@indelible/client';
import { expect, test } from 'vitest';
import { exitCodeOf, FindingError, UsageError } from './io.ts';

const answer = (status: number) =>
  new IndelibleError({ status, code: 'unexpected_answer', detail: 'x', requestId: null });

test('scripts can tell findings, wrong usage and an unreachable service apart', () => {
  expect(exitCodeOf(new FindingError('damaged'))).toBe(1);
  expect(exitCodeOf(new UsageError('no key'))).toBe(2);
  expect(exitCodeOf(new UnreachableError('refused'))).toBe(3);
});

test('a refusal of the service is wrong usage; busy, failing and foreign answers are unreachable', () => {
  expect([400, 401, 403, 404, 409, 422].map((status) => exitCodeOf(answer(status)))).toEqual(
    Array(6).fill(2),
  );
  expect([200, 302, 429, 500, 502, 503].map((status) => exitCodeOf(answer(status)))).toEqual(
    Array(6).fill(3),
  );
});
