import { expect, test } from 'vitest';
import { pauseMs, stepBackFrom } from './step-back.ts';

const counter = () => new Int32Array(new SharedArrayBuffer(4));

test('an export works on while no request comes', async () => {
  expect(pauseMs(0, 8)).toBe(0);
  const stepBack = stepBackFrom(counter());
  const began = performance.now();
  for (let page = 0; page < 10_000; page++) await stepBack();
  expect(performance.now() - began).toBeLessThan(9_000); // a pause is a millisecond at least
});

test('who asks now and then does not hold it up, many take eight ninths of the time', () => {
  expect(pauseMs(1, 8)).toBe(0);
  expect(pauseMs(3, 8)).toBe(10);
  expect(pauseMs(1_000, 8)).toBe(64);
});

test('requests that came during a page are waited for once', async () => {
  const requests = counter();
  const stepBack = stepBackFrom(requests);
  const began = performance.now();
  while (performance.now() - began < 20) Atomics.add(requests, 0, 1);
  await stepBack();
  const waited = performance.now() - began;
  expect(waited).toBeGreaterThan(175);
  await stepBack();
  expect(performance.now() - began - waited).toBeLessThan(1_000); // it would be 1,440 ms
});
