import type { ServerResponse } from 'node:http';

/**
 * Breaks an answer off when its reader takes nothing of it for `afterMs`, or up to twice as long
 * where a write is half done, although there is something to take. A reader that stops and stays
 * connected would keep its page in memory for ever, and its export neither ready nor failed.
 */
export function endWhenStalled(response: ServerResponse, afterMs: number): void {
  response.setTimeout(afterMs, () => {
    if (response.writableLength > 0) response.destroy();
    // The reader waits for what is still being made; an answer that was sent needs no timer.
    else if (!response.writableFinished && !response.destroyed) response.setTimeout(afterMs);
  });
}
