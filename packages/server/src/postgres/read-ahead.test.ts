import { expect, test } from 'vitest';
import { readAhead } from './read-ahead.ts';

/** Numbered pages to 5; says when each one begins to be read. */
function source(failsAt = Number.POSITIVE_INFINITY) {
  const begun: number[] = [];
  async function* read() {
    for (let page = 1; page <= 5; page++) {
      begun.push(page);
      await new Promise((resolve) => setImmediate(resolve));
      if (page === failsAt) throw new Error(`page ${page}`);
      yield page;
    }
  }
  return { begun, pages: read() };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('every page comes once, in order, to the last one', async () => {
  for (const ahead of [0, 1, 2, 10]) {
    const pages: number[] = [];
    for await (const page of readAhead(source().pages, ahead)) pages.push(page);
    expect(pages).toEqual([1, 2, 3, 4, 5]);
  }
});

test('the next two are read while a page is worked on, and no more', async () => {
  const { begun, pages } = source();
  const ahead = readAhead(pages, 2);
  await ahead.next();
  await turns(10);
  expect(begun).toEqual([1, 2, 3]);
  await ahead.next();
  await turns(10);
  expect(begun).toEqual([1, 2, 3, 4]);
  await ahead.return();
});

test('once the consumer has left, the page that is being read is the last one', async () => {
  const { begun, pages } = source();
  for await (const page of readAhead(pages, 2)) if (page === 1) break;
  await turns(10);
  expect(begun).toEqual([1, 2]);
});

test.each([0, 1, 2])(
  'a source of which %i are read in advance is closed by who leaves',
  async (count) => {
    let isClosed = false;
    async function* pages() {
      try {
        yield* source().pages;
      } finally {
        isClosed = true;
      }
    }
    for await (const page of readAhead(pages(), count)) if (page === 1) break;
    await turns(10);
    expect(isClosed).toBe(true);
  },
);

test('a page that cannot be read is met when it is its turn, and nothing is read behind it', async () => {
  const { begun, pages } = source(3);
  const met: number[] = [];
  const all = async () => {
    for await (const page of readAhead(pages, 2)) {
      met.push(page);
      await turns(5);
    }
  };
  await expect(all()).rejects.toThrow('page 3');
  expect([met, begun]).toEqual([
    [1, 2],
    [1, 2, 3],
  ]);
});
