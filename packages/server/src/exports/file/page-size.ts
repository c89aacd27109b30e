/**
 * How many rows a page has at most, and how large an
 * event may be that comes in it; others are read alone.
 */
export interface PageSize {
  rows: number;
  eventBytesMax: number;
}

// Each at most 8 MiB, and a few times the length of the texts that have limits of their own. Long
// pages are quick where events are small: beginning one costs as much as reading hundreds of rows.
export const shortestSize: PageSize = { rows: 125, eventBytesMax: 64 * 1024 };
const sizes: readonly PageSize[] = [
  { rows: 2_000, eventBytesMax: 4 * 1024 },
  { rows: 500, eventBytesMax: 16 * 1024 },
  shortestSize,
];
const smallPage = 1024 * 1024;

/** Of what the first page should be nothing is known yet. */
export const firstSize: PageSize = { rows: 500, eventBytesMax: 16 * 1024 };

/**
 * The size of the next page after one of `size`: shorter when a tenth of its rows were too large
 * for it, longer when it was full and still small (`characters` of text).
 */
export function nextSize(
  size: PageSize,
  page: { rows: number; alone: number; characters: number },
): PageSize {
  const at = sizes.findIndex(({ rows }) => rows === size.rows);
  if (10 * page.alone > page.rows) return sizes[at + 1] ?? size;
  if (page.rows === size.rows && page.characters < smallPage) return sizes[at - 1] ?? size;
  return size;
}
