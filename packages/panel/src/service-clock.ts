let aheadMs = 0;

/**
 * The service's time in ms, at most a second ahead of it. With the time of a browser whose clock is
 * slow, a range up to now would hide the newest events.
 */
export const serviceNow = () => Date.now() + aheadMs;

/** Takes the time of an answer of the service, which has no milliseconds. */
export function hearTime({ headers }: Response): void {
  const endMs = Date.parse(headers.get('date') ?? '') + 1_000;
  if (!Number.isNaN(endMs)) aheadMs = endMs - Date.now();
}
