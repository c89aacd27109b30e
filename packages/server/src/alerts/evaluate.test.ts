import type { AlertRuleSettings } from '@indelible/protocol';
import { expect, test } from 'vitest';
import {
  alertLimit,
  type Candidate,
  dayMs,
  type Evaluator,
  FirstSeenEvaluator,
  hourMs,
  minuteMs,
  networkOf,
  SilenceEvaluator,
  ThresholdEvaluator,
  UnusualRateEvaluator,
} from './evaluate.ts';

const settings = (more: Partial<AlertRuleSettings>): AlertRuleSettings => ({
  name: 'Rule',
  kind: 'threshold',
  filters: {},
  notify: {},
  ...more,
});

let sequence = 0;
const start = Date.UTC(2026, 0, 5, 9);
function at(ms: number, more: Partial<Candidate> = {}): Candidate {
  sequence += 1;
  const who = { actorId: 'ana', actorIp: '192.0.2.7', resourceType: 'queue', resourceId: 'q' };
  return { uuid: `id-${sequence}`, sequence, atMs: start + ms, ...who, ...more };
}

/** The times, from the start, at which the events have findings. */
const findings = (evaluator: Evaluator, events: readonly Candidate[]) =>
  events.flatMap((event) => {
    const found = evaluator.take(event);
    return found ? [found.atMs - start] : [];
  });

test('a threshold is reached by events of one group within the window, and then is quiet for a window', () => {
  const three = () =>
    new ThresholdEvaluator(settings({ count: 3, windowMinutes: 1, groupBy: 'actor' }));
  expect(findings(three(), [at(0), at(30_000), at(59_000)])).toEqual([59_000]);
  expect(findings(three(), [at(0), at(30_000), at(60_000)])).toEqual([]);
  const two = [at(0), at(1), at(2, { actorId: 'ben' }), at(3, { actorId: 'ben' })];
  expect(findings(three(), two)).toEqual([]);
  // One each ten seconds: the third is an alert, and a window later counting begins again.
  const steady = Array.from({ length: 12 }, (_, n) => at(n * 10_000));
  expect(findings(three(), steady)).toEqual([20_000, 100_000]);
  const byIp = new ThresholdEvaluator(settings({ count: 2, windowMinutes: 1, groupBy: 'ip' }));
  expect(findings(byIp, [at(0, { actorIp: null }), at(1, { actorIp: null })])).toEqual([]);
});

test('a late event counts with those of its own time, and keeps those of another from counting', () => {
  const rule = () => new ThresholdEvaluator(settings({ count: 3, windowMinutes: 10 }));
  const taken = (...minutes: number[]) => {
    const events = minutes.map((minute) => at(minute * minuteMs));
    return findings(rule(), events).map((ms) => ms / minuteMs);
  };
  expect(taken(50, 0, 1), 'two that are fifty minutes late').toEqual([]);
  expect(taken(50, 0, 1, 51, 52)).toEqual([52]);
  expect(taken(50, 0, 51, 1, 2, 52)).toEqual([2, 52]);
  expect(taken(50, 58, 54), 'between the others').toEqual([54]);
});

test('a threshold that must be followed is reached by the event that follows, of the same group in time', () => {
  const rule = () =>
    new ThresholdEvaluator(
      settings({ count: 2, windowMinutes: 1, groupBy: 'ip', followedBy: { action: ['login'] } }),
    );
  const follows = (ms: number, more: Partial<Candidate> = {}) => at(ms, { follows: true, ...more });
  const two = () => [at(0), at(30_000)];
  expect(findings(rule(), [...two(), follows(59_999), follows(59_999)])).toEqual([59_999]);
  expect(findings(rule(), [...two(), follows(60_000)]), 'one is too old').toEqual([]);
  expect(findings(rule(), [...two(), follows(40_000, { actorIp: '192.0.2.8' })])).toEqual([]);
  expect(findings(rule(), [at(0), follows(1), at(2), at(3), at(4)])).toEqual([]);
  const three = [...two(), follows(40_000)];
  expect(three.map((event) => rule().take(event))).toEqual([null, null, null]);
  const whole = rule();
  const [, , finding] = three.map((event) => whole.take(event));
  const events = three.map(({ uuid }) => ({ uuid }));
  expect(finding).toMatchObject({ count: 3, group: '192.0.2.7', events });
});

test('events that overtake each other within the window count together', () => {
  const rule = new ThresholdEvaluator(settings({ count: 3, windowMinutes: 1 }));
  expect(findings(rule, [at(30_000), at(10_000), at(20_000)])).toEqual([20_000]);
});

test('an evaluator that was told what happened before finds what one finds that saw it', () => {
  const events = Array.from({ length: 40 }, (_, n) => at(n * 7_000));
  const rule = settings({ count: 4, windowMinutes: 1, groupBy: 'actor' });
  const whole = findings(new ThresholdEvaluator(rule), events);
  for (let cut = 0; cut < events.length; cut++) {
    const [before, after] = [events.slice(0, cut), events.slice(cut)];
    const first = new ThresholdEvaluator(rule);
    const found = findings(first, before);
    const second = new ThresholdEvaluator(rule);
    const lastFound = found.at(-1);
    // What the log tells: the last events of the group, and the rule's last alert.
    second.learn('ana', before.slice(-4), lastFound === undefined ? undefined : start + lastFound);
    expect([...found, ...findings(second, after)], `cut at ${cut}`).toEqual(whole);
  }
});

test("an actor's first action within the lookback is seen, by type, resource or network", () => {
  const rule = (groupBy: AlertRuleSettings['groupBy']) =>
    new FirstSeenEvaluator(
      settings({ kind: 'first_seen', lookbackDays: 30, ...(groupBy && { groupBy }) }),
    );
  const types = [at(0), at(1), at(2, { resourceType: 'ivr' }), at(30 * dayMs), at(61 * dayMs)];
  expect(findings(rule('actor'), types)).toEqual([0, 2, 61 * dayMs]);
  const networks = [at(0), at(1, { actorIp: '192.0.2.99' }), at(2, { actorIp: '192.0.3.1' })];
  expect(findings(rule('ip'), networks)).toEqual([0, 2]);
  expect(findings(rule('resource'), [at(0), at(1, { actorId: 'ben' })])).toEqual([0, 1]);
});

test('an address belongs to the network of its first 24 bits, or 48 of IPv6', () => {
  expect(['192.0.2.7', '2001:db8:1:2::9', '2001:db8::1', '::1'].map(networkOf)).toEqual([
    ...['192.0.2.0/24', '2001:db8:1::/48', '2001:db8:0::/48', '0:0:0::/48'],
  ]);
});

test('a silence is found once, when it has lasted for the window, and again after an event', () => {
  const rule = new SilenceEvaluator(settings({ kind: 'silence', windowMinutes: 10 }), start);
  expect(rule.until(start + 10 * minuteMs - 1)).toBeNull();
  expect(rule.until(start + 10 * minuteMs)).toMatchObject({ atMs: start + 10 * minuteMs });
  expect(rule.until(start + 30 * minuteMs)).toBeNull();
  expect(findings(rule, [at(40 * minuteMs), at(45 * minuteMs), at(56 * minuteMs)])).toEqual([
    55 * minuteMs,
  ]);
});

test('an hour is unusual above its median of former weeks and its deviations, never below the floor', () => {
  const weekMs = 7 * dayMs;
  const hourOf = (week: number, count: number) =>
    Array.from({ length: count }, (_, n) => at(week * weekMs + n * 1_000));
  const rule = (count = 10) =>
    new UnusualRateEvaluator(settings({ kind: 'unusual_rate', count, lookbackDays: 28 }));
  const usual = [20, 22, 18, 20].flatMap((count, week) => hourOf(week, count));
  expect(findings(rule(), [...usual, ...hourOf(4, 39)])).toEqual([]);
  expect(findings(rule(), [...usual, ...hourOf(4, 60)])).toEqual([4 * weekMs + 39_000]);
  expect(findings(rule(100), [...usual, ...hourOf(4, 99)]), 'the floor').toEqual([]);
  expect(findings(rule(), hourOf(1, 500)), 'an actor without two weeks').toEqual([]);
});

test('a rule raises at most sixty alerts in an hour', () => {
  const isAlert = alertLimit([start - hourMs, start - 1]);
  const finding = (atMs: number) => ({ atMs: start + atMs, group: null, count: 1, events: [] });
  const allowed = Array.from({ length: 100 }, (_, n) => isAlert(finding(n)));
  expect(allowed.filter(Boolean)).toHaveLength(59);
  expect(isAlert(finding(hourMs + 1))).toBe(true);
});
