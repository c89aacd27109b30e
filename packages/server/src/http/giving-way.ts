import { setImmediate } from 'node:timers/promises';

/** How long requests wait for a piece of long work. */
const pieceMs = 10;

/**
 * For long work in this thread, which calls the function between its steps: when these have taken
 * 10 ms, requests are answered first.
 */
export function givingWay(): () => Promise<void> {
  let sinceMs = performance.now();
  return async () => {
    if (performance.now() - sinceMs < pieceMs) return;
    await setImmediate();
    sinceMs = performance.now();
  };
}
