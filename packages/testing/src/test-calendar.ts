import { spawnSync } from 'node:child_process';

/*
 * `npm run test:calendar [files]`: what counts days, months or years, on days on which that goes
 * wrong. `vitest.config.ts` lists it. Each is the next such day: PostgreSQL's timeouts come too
 * early with a clock that is behind, and not at all with one that is ahead.
 */

const hour = 3_600_000;
const tomorrow = Date.now() + 24 * hour;
const thisYear = new Date(tomorrow).getUTCFullYear();

/** The first time from tomorrow on that a year has; at noon, unless it is given. */
function next(month: number, day: number, ms = 12 * hour): number {
  for (let year = thisYear; ; year += 1) {
    const midnight = Date.UTC(year, month - 1, day);
    const exists = new Date(midnight).getUTCDate() === day;
    if (exists && midnight + ms > tomorrow) return midnight + ms;
  }
}

/** Ten seconds before the clocks of Europe change, on the last Sunday of a month of 31 days. */
function nextChange(month: number): number {
  for (let year = thisYear; ; year += 1) {
    const last = new Date(Date.UTC(year, month - 1, 31));
    const ms = last.getTime() - last.getUTCDay() * 24 * hour + hour - 10_000;
    if (ms > tomorrow) return ms;
  }
}

const inBerlin = 'Europe/Berlin';
const days = [
  { ms: next(11, 28) },
  { ms: next(12, 31, 24 * hour - 10_000) },
  { ms: next(1, 31) },
  { ms: next(2, 28) },
  { ms: next(2, 29) },
  { ms: next(3, 1, 0) },
  { ms: nextChange(3), timeZone: inBerlin },
  { ms: nextChange(10), timeZone: inBerlin },
  { ms: Date.UTC(thisYear + 2, 6, 31, 12) },
];

if (spawnSync('faketime', ['--version']).status !== 0) {
  console.log('NOT RUN: npm run test:calendar, for want of faketime');
} else {
  for (const { ms, timeZone = 'UTC' } of days) {
    const at = new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
    console.log(`${at} UTC, on a machine in ${timeZone}`);
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'calendar'];
    const args = [`${at} UTC`, process.execPath, ...vitest, ...process.argv.slice(2)];
    // Durations are measured with the steady clock, which stays as it is.
    const env = { ...process.env, TZ: timeZone, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
    const { status } = spawnSync('faketime', args, { env, stdio: 'inherit' });
    if (status !== 0) process.exitCode = status ?? 1;
  }
}
