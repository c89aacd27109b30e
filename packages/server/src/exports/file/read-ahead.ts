/** The pages in order, up to `count` of them read in advance, while the consumer works. */
export async function* readAhead<Page>(
  pages: AsyncGenerator<Page, void>,
  count: number,
): AsyncGenerator<Page, void> {
  const reading: Promise<IteratorResult<Page, void>>[] = [];
  for (;;) {
    while (reading.length <= count) {
      const next = pages.next();
      next.catch(() => {}); // thrown at its turn; if the consumer has left, it is ignored
      reading.push(next);
    }
    const page = await reading.shift();
    if (!page || page.done) return;
    yield page.value;
  }
}
