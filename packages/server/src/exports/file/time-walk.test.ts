import { firstUuidAt } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { advance, beginWalk, nextRange, shorten, type TimeWalk } from './time-walk.ts';

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 5, 1);
const startMs = nowMs - 7 * 365 * dayMs;
const pageRows = 10;

/** Ids of these moments, in order, one a moment. */
const idsAt = (moments: Iterable<number>) =>
  [...new Set(moments)].sort((a, b) => b - a).map((ms) => firstUuidAt(ms));

interface Log {
  ids: string[];
  /** What one look costs, in ms; beyond the limit it ends without an answer. */
  costMs: (range: { from: string; before: string | null }, matches: string[]) => number;
}

const limitMs = 10_000;

/** Reads everything; returns what was found, and how many looks that took. */
function walked({ ids, costMs }: Log) {
  const found: string[] = [];
  let looks = 0;
  let walk: TimeWalk | null = beginWalk(nowMs, firstUuidAt(startMs));
  while (walk) {
    looks += 1;
    const range = nextRange(walk);
    const { from, before } = range;
    const matches = ids.filter((id) => id >= from && (before === null || id < before));
    const tookMs = costMs(range, matches);
    if (tookMs > limitMs) {
      walk = shorten(walk);
      if (!walk) throw new Error('even the shortest look takes too long');
      continue;
    }
    const page = matches.slice(0, pageRows);
    found.push(...page);
    walk = advance(walk, {
      last: page.at(-1) ?? null,
      more: page.length === pageRows,
      tookMs,
    });
  }
  return { found, looks };
}

test('a walk finds every event once, newest first, however they lie and however slow looks are', () => {
  // Some are newer than the moment of the export: other clocks are not ours.
  const moments = fc.array(fc.integer({ min: startMs, max: nowMs + 5 * 60_000 }), {
    maxLength: 60,
  });
  const clustered = moments.map((list) => list.flatMap((ms) => [ms, ms + 1, ms + 7, ms + 50]));
  fc.assert(
    fc.property(fc.oneof(moments, clustered), fc.integer({ min: 0, max: 200 }), (list, slow) => {
      const ids = idsAt(list.map((ms) => Math.min(ms, nowMs + 5 * 60_000)));
      const { found } = walked({ ids, costMs: (_, matches) => slow * matches.length });
      expect(found).toEqual(ids);
    }),
  );
});

test('seven empty years take a handful of looks', () => {
  const { found, looks } = walked({ ids: [], costMs: () => 1 });
  expect(found).toEqual([]);
  expect(looks).toBeLessThan(10);
});

test('where a day costs as much as a statement may take, looks become shorter than that', () => {
  const msOf = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16);
  const span = (from: string, before: string | null) =>
    (before === null ? nowMs : msOf(before)) - msOf(from);
  const ids = idsAt([nowMs - 3 * dayMs, startMs + 1]);
  const { found, looks } = walked({
    ids,
    // 20 s a day for the last month, nothing before.
    costMs: ({ from, before }) =>
      msOf(from) > nowMs - 30 * dayMs ? (20_000 * span(from, before)) / dayMs : 1,
  });
  expect(found).toEqual(ids);
  expect(looks).toBeLessThan(600);
});

test('in a dense log a look goes no further than about the next page', () => {
  const ids = idsAt(Array.from({ length: 2_000 }, (_, n) => nowMs - n * 1_000));
  const spans: number[] = [];
  walked({
    ids,
    costMs(_, matches) {
      spans.push(matches.length);
      return 1;
    },
  });
  // The first look knows nothing yet, and the last ones find the end.
  expect(Math.max(...spans.slice(1, 190))).toBeLessThanOrEqual(2 * pageRows + 1);
});
