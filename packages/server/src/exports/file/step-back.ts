import { setTimeout as delay } from 'node:timers/promises';

/** How long an export steps back for each request but one that came while it made a page, */
const perRequestMs = 5;
/** and at most: so many times as long as the page took. */
const pausesMax = 8;

/**
 * Lets those who wait for an answer go first. What is returned is awaited between two pages.
 * `requests` counts what the process was asked so far.
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
 * Where many requests come in, an export works a ninth of the time; where none do, or one now and
 * then asks how far it is, nothing is waited for.
 */
export function pauseMs(requests: number, pageMs: number): number {
  return Math.min(Math.max(0, requests - 1) * perRequestMs, pausesMax * pageMs);
}
