/** The most rows of a page, and the largest event in it; larger ones are read separately. */
export interface PageSize {
  rows: number;
  eventBytesMax: number;
}

// Each at most 8 MiB. Long pages are faster for small events: starting a page costs as much as
// reading hundreds of rows.
export const shortestSize: PageSize = { rows: 125, eventBytesMax: 64 * 1024 };
const sizes: readonly PageSize[] = [
  { rows: 2_000, eventBytesMax: 4 * 1024 },
  { rows: 500, eventBytesMax: 16 * 1024 },
  shortestSize,
];
const smallPage = 1024 * 1024;

/** The size before anything is known about the rows. */
export const firstSize: PageSize = { rows: 500, eventBytesMax: 16 * 1024 };

/**
 * The size of the next page, after one of `size` rows. Smaller if a tenth of the rows were too
 * large; larger if the page was full and still small (`characters` of text).
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
