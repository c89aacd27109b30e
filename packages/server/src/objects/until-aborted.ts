/**
 * The same bytes until `signal` is aborted: then throws its reason at once, even while waiting for
 * the source. The source is ended, but not awaited.
 */
export async function* untilAborted(
  body: AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const source = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await orAborted(source.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    source.return?.().catch(() => {});
  }
}

// Not a race with one promise for all chunks: that promise would keep every chunk in memory.
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = () => reject(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort);
  work.then(resolve, reject);
  return promise.finally(() => signal?.removeEventListener('abort', onAbort));
}
