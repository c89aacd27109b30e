import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { Alarm } from './reports.ts';

test('an alarm never rings before its time by the clock that it is compared with', async () => {
  const early: number[] = [];
  const ringOnce = () =>
    new Promise<void>((resolve) => {
      const ms = 4.9;
      const untilMs = performance.now() + ms;
      const alarm = new Alarm(() => {
        const leftMs = untilMs - performance.now();
        if (leftMs > 0) early.push(leftMs);
        resolve();
      });
      alarm.set(ms);
    });
  const keepAlive = setInterval(() => {}, 1_000); // an alarm keeps no process from ending
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(
      Array.from({ length: 20 }, async (_, each) => {
        for (const until = performance.now() + each / 20; performance.now() < until; );
        await ringOnce();
      }),
    );
  }
  clearInterval(keepAlive);
  expect(early).toEqual([]);
});
