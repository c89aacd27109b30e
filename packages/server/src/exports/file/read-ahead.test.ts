import { expect, test } from 'vitest';
import { readAhead } from './read-ahead.ts';

/** Numbered pages to 5; says when each one begins to be read. */
function source(failsAt = Number.POSITIVE_INFINITY) {
  const begun: number[] = [];
  const read = async (start: number) => {
    begun.push(start);
    await new Promise((resolve) => setImmediate(resolve));
    if (start === failsAt) throw new Error(`page ${start}`);
    return { start, next: start === 5 ? null : start + 1 };
  };
  return { begun, read };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('every page comes once, in order, to the last one', async () => {
  for (const ahead of [1, 2, 10]) {
    const starts: number[] = [];
    for await (const { start } of readAhead(1, source().read, ahead)) starts.push(start);
    expect(starts).toEqual([1, 2, 3, 4, 5]);
  }
});

test('the next two are read while a page is worked on, and no more', async () => {
  const { begun, read } = source();
  const pages = readAhead(1, read, 2);
  await pages.next();
  await turns(10);
  expect(begun).toEqual([1, 2, 3]);
  await pages.next();
  await turns(10);
  expect(begun).toEqual([1, 2, 3, 4]);
  await pages.return();
});

test('a page that cannot be read is met when it is its turn, and nothing is read behind it', async () => {
  const { begun, read } = source(3);
  const starts: number[] = [];
  const all = async () => {
    for await (const { start } of readAhead(1, read, 2)) {
      starts.push(start);
      await turns(5);
    }
  };
  await expect(all()).rejects.toThrow('page 3');
  expect([starts, begun]).toEqual([
    [1, 2],
    [1, 2, 3],
  ]);
});
