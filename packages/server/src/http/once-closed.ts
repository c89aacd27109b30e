import type { ServerResponse } from 'node:http';

/**
 * Calls `then` when the answer is over, sent or not. At once if the caller has already hung up, for
 * example while its credential was looked up: `close` is not emitted again.
 */
export function onceClosed(response: ServerResponse, then: () => void): void {
  if (response.closed) then();
  // Node warns of a leak at the eleventh listener, whatever adds it.
  else response.setMaxListeners(0).once('close', then);
}
