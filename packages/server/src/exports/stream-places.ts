import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { AppError } from '../problem.ts';

/** Answers that may hold a file of one tenant at the same time, in one process. */
const placesMax = 8;

/**
 * How many files may be sent at once: each holds a page in memory for as long as its reader likes,
 * and a tenant may have as many readers as it likes. Jobs need no place.
 */
export class StreamPlaces {
  readonly #taken = new Map<string, number>();

  /**
   * Takes a place until the answer has ended, however it does. Throws `rate_limited` when there is
   * none.
   */
  take(tenantId: string, response: ServerResponse): void {
    const taken = this.#taken.get(tenantId) ?? 0;
    if (taken >= placesMax) throw noPlace();
    this.#taken.set(tenantId, taken + 1);
    finished(response, () => this.#leave(tenantId));
  }

  #leave(tenantId: string): void {
    const left = (this.#taken.get(tenantId) ?? 1) - 1;
    if (left > 0) this.#taken.set(tenantId, left);
    else this.#taken.delete(tenantId);
  }
}

function noPlace(): AppError {
  const detail = `${placesMax} exports are being sent already; wait, or ask with Prefer: respond-async`;
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '5' } });
}
