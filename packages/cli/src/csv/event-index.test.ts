import { expect, onTestFinished, test } from 'vitest';
import { EventIndex } from './event-index.ts';

const uuid = (n: number) => `0199c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

test('every event is found by its id, with its line, and no other one is', () => {
  const index = new EventIndex();
  onTestFinished(() => index.close());
  expect(index.find(uuid(1), 0)).toBe(-1);
  for (let n = 0; n < 3_000; n += 1) {
    expect(index.add(uuid(2 * n), n + 7, n % 3 === 0, Buffer.from(`line ${n}`))).toBe(true);
  }
  for (const n of [0, 1, 511, 512, 513, 1_700, 2_999]) {
    for (const guess of [n, n + 1, -1, 3_000]) expect(index.find(uuid(2 * n), guess)).toBe(n);
    const { sequence, wanted, line } = index.read(n);
    expect([sequence, wanted, line.toString()]).toEqual([n + 7, n % 3 === 0, `line ${n}`]);
    expect(index.isWanted(n)).toBe(wanted);
    expect(index.find(uuid(2 * n + 1), n)).toBe(-1);
  }
});

test('an event that does not follow the one before is left out, and that is said', () => {
  const index = new EventIndex();
  onTestFinished(() => index.close());
  const line = Buffer.from('x');
  expect([5, 5, 4, 6].map((n) => index.add(uuid(n), n, true, line))).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(index.size).toBe(2);
});
