import type { ServerResponse } from 'node:http';

/**
 * How long nothing may be taken of what is sent; up to twice as long where a write is half done.
 * The system takes more only when a third of its buffer, of 4 MiB, is free: behind a proxy on the
 * same machine that is 70 s at 20 kB/s.
 */
const stalledAfterMs = 180_000;

/**
 * Breaks an answer off when whoever it is sent to takes nothing of it for so long, though there is
 * something to take. A reader who has stopped, and stays, would hold its page in memory for ever,
 * and its export neither ready nor failed.
 */
export function endWhenStalled(response: ServerResponse, afterMs = stalledAfterMs): void {
  response.setTimeout(afterMs, () => {
    if (response.writableLength > 0) response.destroy();
    // The reader waits for what is still being made; an answer that was sent needs no timer.
    else if (!response.writableFinished && !response.destroyed) response.setTimeout(afterMs);
  });
}
