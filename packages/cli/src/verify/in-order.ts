/**
 * Results 0 to `count` - 1 of `get` in order, with up to `atOnce` calls in flight. Ends with the
 * first error in that order; drops later results.
 */
export async function* inOrder<T>(
  count: number,
  atOnce: number,
  get: (index: number) => Promise<T>,
): AsyncGenerator<T, void, undefined> {
  const pending: Promise<T>[] = [];
  for (let next = 0; next < count || pending.length > 0; ) {
    for (; next < count && pending.length < atOnce; next += 1) {
      const call = get(next);
      // A call after a failed one is not awaited; its error must not end the process.
      call.catch(() => {});
      pending.push(call);
    }
    const first = pending.shift();
    if (first !== undefined) yield await first;
  }
}
