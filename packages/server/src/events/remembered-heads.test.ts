import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { LogHead } from '../log/sequencer.ts';
import { RememberedHeads } from './remembered-heads.ts';

const headOf = (more: Partial<LogHead> = {}): LogHead => ({
  tenantId: randomUUID(),
  size: 0,
  frontier: new Uint8Array(),
  lastReceivedUs: 0,
  retentionClass: 2,
  otherClasses: [],
  isClosed: false,
  ...more,
});

test('the heads of a flush are remembered all or none, as they were kept last', () => {
  const heads = new RememberedHeads();
  const [one, other] = [headOf(), headOf({ otherClasses: [1_000] })];
  const ids = [other.tenantId, one.tenantId];
  heads.keep([one]);
  expect(heads.of(ids)).toBeNull();
  heads.keep([other, { ...one, size: 7 }]);
  expect(heads.of(ids)).toEqual([other, { ...one, size: 7 }]);
});

test('closed logs, and those whose events move between classes, are not remembered', () => {
  const heads = new RememberedHeads();
  const head = headOf();
  for (const change of [{ isClosed: true }, { otherClasses: [1, 1_000] }]) {
    heads.keep([head]);
    heads.keep([{ ...head, ...change }]);
    expect(heads.of([head.tenantId])).toBeNull();
  }
});

test('as many heads are remembered as there is room for, those that were used last', () => {
  const heads = new RememberedHeads();
  const all = Array.from({ length: 5_001 }, () => headOf());
  const [first, second, ...others] = all.map(({ tenantId }) => tenantId) as [string, string];
  heads.keep(all.slice(0, -1));
  heads.keep(all.slice(0, 1));
  heads.keep(all.slice(-1));
  expect(heads.of([second])).toBeNull();
  expect(heads.of([first, ...others])?.length).toBe(5_000);
});

test('while others move the heads, fewer and fewer flushes try; while they do not, all', () => {
  const heads = new RememberedHeads();
  const head = headOf();
  const ids = [head.tenantId];
  /** How many flushes have locked heads before, since one found another head. */
  const pause = () => {
    heads.mismatched(ids);
    expect(heads.of(ids)).toBeNull(); // that flush, repeated
    heads.keep([head]);
    let flushes = 0;
    while (heads.of(ids) === null) flushes++;
    return flushes;
  };
  const pauses = Array.from({ length: 13 }, pause);
  expect(pauses).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1023, 1023]);
  for (let n = 0; n < 3; n++) heads.matched();
  expect(pause()).toBe(127);
  for (let n = 0; n < 9; n++) heads.matched();
  expect(pause()).toBe(0);
});
