import type { ServerResponse } from 'node:http';

// One listener for all: Node warns of a leak at the eleventh of one response.
const waiting = new WeakMap<ServerResponse, (() => void)[]>();

/**
 * Calls `then` when the answer is over, sent or not: at once if the caller has already hung up, for
 * example while its credential was looked up, because `close` is not emitted again.
 */
export function onceClosed(response: ServerResponse, then: () => void): void {
  if (response.closed) {
    then();
    return;
  }
  const calls = waiting.get(response);
  if (calls) {
    calls.push(then);
    return;
  }
  const first = [then];
  waiting.set(response, first);
  response.once('close', () => {
    for (const call of first) call();
  });
}
