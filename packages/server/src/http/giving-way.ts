import { setImmediate } from 'node:timers/promises';

/** How long requests wait for a piece of long work. */
const pieceMs = 10;

/**
 * The pieces of all long work in this thread wait for one another. A variable of the module,
 * because the thread has one event loop, whichever services and connections it serves.
 */
let last: Promise<void> = Promise.resolve();

/**
 * For long work in this thread, which calls the function before each of its steps: when these have
 * taken 10 ms, requests are answered first. In an iteration of the event loop only one such piece
 * begins, so that many calls with long work delay others by no more than one of them does.
 */
export function givingWay(): () => Promise<void> {
  let sinceMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - sinceMs < pieceMs) return;
    last = last.then(() => setImmediate());
    await last;
    sinceMs = performance.now();
  };
}
