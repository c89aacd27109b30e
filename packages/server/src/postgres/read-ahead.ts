/**
 * The pages in order, up to `count` of them read in advance, while the consumer works. Once it has
 * left, the page that is being read is the last one.
 */
export async function* readAhead<Page>(
  pages: AsyncGenerator<Page, void>,
  count: number,
): AsyncGenerator<Page, void> {
  const reading: Promise<IteratorResult<Page, void>>[] = [];
  let hasLeft = false;
  const read = () => (hasLeft ? pages.return() : pages.next());
  try {
    for (;;) {
      while (reading.length <= count) {
        const next = reading.at(-1)?.then(read) ?? read();
        next.catch(() => {}); // thrown at its turn; if the consumer has left, it is ignored
        reading.push(next);
      }
      const page = await reading.shift();
      if (!page || page.done) return;
      yield page.value;
    }
  } finally {
    hasLeft = true;
    // Ends the source behind that page. The consumer has left: an error has no receiver.
    pages.return().catch(() => {});
  }
}
