/**
 * Pages, each with the start of the next one, read in order and up to `ahead` in advance, so that
 * reading continues while the consumer works.
 */
export async function* readAhead<Start, Page extends { next: Start | null }>(
  first: NoInfer<Start>,
  read: (start: Start) => Promise<Page>,
  ahead: number,
): AsyncGenerator<Page, void, undefined> {
  let last: Promise<Page | null> = heard(read(first));
  const reading = [last];
  for (;;) {
    while (reading.length <= ahead) {
      last = heard(
        last.then((page) => (page === null || page.next === null ? null : read(page.next))),
      );
      reading.push(last);
    }
    const page = await reading.shift();
    if (!page) return;
    yield page;
  }
}

/** The error of a page is thrown at its turn; if the consumer has left, it is ignored. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
