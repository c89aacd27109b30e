import { expect, test } from 'vitest';
import { firstSize, nextSize, type PageSize } from './page-size.ts';

/** The size that pages come to where every event has so many bytes. */
function settled(eventBytes: number, from: PageSize = firstSize): PageSize {
  let size = from;
  for (let page = 0; page < 10; page++) {
    const alone = eventBytes > size.eventBytesMax ? size.rows : 0;
    const characters = size.rows * (alone > 0 ? 36 : eventBytes);
    size = nextSize(size, { rows: size.rows, alone, characters });
  }
  return size;
}

test('pages become as long as their events are small, wherever they begin', () => {
  const small = settled(500);
  const large = settled(60_000);
  expect(small.rows).toBe(2_000);
  expect(settled(500, large)).toEqual(small);
  expect(settled(60_000, small)).toEqual(large);
  expect(large.eventBytesMax).toBeGreaterThanOrEqual(60_000);
  expect(settled(10_000, small).eventBytesMax).toBeGreaterThanOrEqual(10_000);
});

test('whatever the events, a page never has more than 8 MiB of them', () => {
  for (const bytes of [100, 5_000, 20_000, 100_000]) {
    const { rows, eventBytesMax } = settled(bytes);
    expect(rows * eventBytesMax).toBeLessThanOrEqual(8 * 2 ** 20);
  }
});

test('one large event among many small ones changes nothing, nor does the short page at the end', () => {
  const small = settled(500);
  expect(nextSize(small, { rows: 2_000, alone: 100, characters: 950_000 })).toEqual(small);
  expect(nextSize(firstSize, { rows: 499, alone: 0, characters: 250_000 })).toEqual(firstSize);
});
