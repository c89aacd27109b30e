/**
 * Pages, each of which says where the next one begins, read one after the other and up to `ahead`
 * of them before they are asked for: whoever takes them is busy while the next ones come.
 */
export async function* readAhead<Place, Page extends { next: Place | null }>(
  first: NoInfer<Place>,
  read: (place: Place) => Promise<Page>,
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

/** What fails is met when it is its turn, or by nobody when the reader has gone. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
