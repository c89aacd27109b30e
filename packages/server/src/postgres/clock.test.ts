import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { createClock } from './clock.ts';
import { databaseTime } from './db.ts';

const hourMs = 3_600_000;

test('whether the clock of a machine is ahead, behind or right, the time is that of PostgreSQL', async () => {
  const service = await testService();
  for (const aheadMs of [hourMs, -hourMs, 0]) {
    const clock = createClock(() => Date.now() + aheadMs);
    await clock.compare(() => databaseTime(service.db.reader));
    const { rows } = await service.owner.query('SELECT clock_timestamp() AS now');
    expect(Math.abs(clock.now() - rows[0].now.getTime())).toBeLessThan(1_000);
    expect(Math.abs(clock.aheadMs() - aheadMs)).toBeLessThan(1_000);
  }
  await service.close();
});

/** A clock whose sources the test moves. */
function clockAt(ms: number) {
  const machine = { now: ms };
  const steady = { now: 0 };
  const clock = createClock(
    () => machine.now,
    () => steady.now,
  );
  return { clock, machine, steady };
}

test('a clock that is set back or ahead between two comparisons does not move the time', () => {
  const { clock, machine, steady } = clockAt(1_000_000);
  for (const jump of [hourMs, -2 * hourMs]) {
    machine.now += jump;
    steady.now += 10;
  }
  expect(clock.now()).toBe(1_000_020);
  expect(clock.aheadMs()).toBe(-hourMs - 20);
});

test('an answer that takes long moves the time no further than it must', async () => {
  const { clock, steady } = clockAt(1_000_000);
  const answer = (time: number) => async () => {
    steady.now += 500;
    return time;
  };
  await clock.compare(answer(1_000_250));
  expect(clock.now()).toBe(1_000_500);
  // Asked at 500, answered at 1,000: PostgreSQL is ahead by 2.5 s at least.
  await clock.compare(answer(1_003_500));
  expect(clock.now()).toBe(1_003_500);
});
