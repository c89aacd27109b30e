import { setTimeout as delay } from 'node:timers/promises';

/** The pause for each request, except the first, that arrived while a page was made. */
const perRequestMs = 5;
/** The longest pause, as a multiple of the page's duration. */
const pausesMax = 8;

/**
 * Requests take precedence: the returned function is awaited between two pages. `requests` counts
 * the requests to the process.
 */
export function stepBackFrom(requests: Int32Array<SharedArrayBuffer>): () => Promise<void> {
  let seen = Atomics.load(requests, 0);
  let since = performance.now();
  return async () => {
    const ms = pauseMs(Atomics.load(requests, 0) - seen, performance.now() - since);
    if (ms >= 1) await delay(ms);
    seen = Atomics.load(requests, 0);
    since = performance.now();
  };
}

/**
 * Under many requests an export works a ninth of the time. Without requests, or with an occasional
 * progress request, it does not pause.
 */
export function pauseMs(requests: number, pageMs: number): number {
  return Math.min(Math.max(0, requests - 1) * perRequestMs, pausesMax * pageMs);
}
