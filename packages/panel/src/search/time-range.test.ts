import { expect, test } from 'vitest';
import { absoluteRange, presets, widerPreset, zoomedOut } from './time-range.ts';

const now = Date.UTC(2025, 10, 20, 12);
const minute = 60_000;

test('a preset ends now and reaches back exactly as far as it says', () => {
  expect(absoluteRange({ kind: 'last', preset: '15m' }, now)).toEqual({
    from: now - 15 * minute,
    to: now,
  });
  expect(absoluteRange({ kind: 'last', preset: '90d' }, now)).toEqual({
    from: now - 90 * 1_440 * minute,
    to: now,
  });
  expect(absoluteRange({ kind: 'last', preset: 'all' }, now)).toEqual({ to: now });
});

test('each preset is wider than the one before, up to everything that is retained', () => {
  const starts = presets.map(
    (preset) => absoluteRange({ kind: 'last', preset }, now).from ?? Number.NEGATIVE_INFINITY,
  );
  expect(starts).toEqual([...starts].sort((a, b) => b - a));
  expect(new Set(starts).size).toBe(presets.length);
  let range = { kind: 'last' as const, preset: presets[0] as (typeof presets)[number] };
  const widened = [range.preset];
  for (let next = widerPreset(range); next !== null; next = widerPreset(range)) {
    range = { kind: 'last', preset: next };
    widened.push(next);
  }
  expect(widened).toEqual([...presets]);
});

test('zooming out holds the whole former range and ends now at the latest', () => {
  const between = (from: number, to: number) => zoomedOut({ kind: 'between', from, to }, now);
  expect(between(now - 90, now - 80)).toEqual({ from: now - 100, to: now - 70 });
  expect(between(now - 14, now - 4)).toEqual({ from: now - 30, to: now });
  expect(between(now - 10, now + 50)).toEqual({ from: now - 130, to: now + 50 });
  expect(zoomedOut({ kind: 'between', from: now - 10 }, now)).toBeNull();
  expect(zoomedOut({ kind: 'last', preset: '7d' }, now)).toBeNull();
});
