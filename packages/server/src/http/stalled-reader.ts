import type { ServerResponse } from 'node:http';

/**
 * Ends an answer if its reader accepts nothing for `afterMs` although there is data (up to twice as
 * long if a write is half done). Otherwise a reader that stops and stays connected would hold its
 * page in memory forever, and its export would neither succeed nor fail.
 */
export function endWhenStalled(response: ServerResponse, afterMs: number): void {
  response.setTimeout(afterMs, () => {
    if (response.writableLength > 0) response.destroy();
    // Data is still being made; a sent answer needs no timer.
    else if (!response.writableFinished && !response.destroyed) response.setTimeout(afterMs);
  });
}
