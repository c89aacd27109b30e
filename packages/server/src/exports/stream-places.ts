import { finished, type Writable } from 'node:stream';
import { AppError } from '../http/index.ts';

/** Answers that may hold a file of one tenant at the same time, in one process. */
const placesMax = 8;

interface Line {
  taken: number;
  /** Each is called when a place has become its own. */
  waiting: Set<() => void>;
}

/**
 * How many files may be sent at once: each holds a page in memory for as long as its reader likes,
 * and a tenant may have as many readers as it likes. Small ones are gone in no time, so that others
 * wait for their turn rather than being refused. Jobs need no place.
 */
export class StreamPlaces {
  readonly #lines = new Map<string, Line>();
  readonly #waitMs: number;

  constructor(waitMs = 5_000) {
    this.#waitMs = waitMs;
  }

  /**
   * Takes a place until the answer has ended, however it does.
   * Throws `rate_limited` when none becomes free in time.
   */
  async take(tenantId: string, answer: Writable): Promise<void> {
    const line = this.#lines.get(tenantId) ?? { taken: 0, waiting: new Set() };
    this.#lines.set(tenantId, line);
    if (line.taken < placesMax) line.taken += 1;
    else await this.#wait(line);
    finished(answer, () => this.#leave(tenantId, line));
  }

  #wait({ waiting }: Line): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(come);
      reject(noPlace());
    }, this.#waitMs);
    const come = () => {
      clearTimeout(timer);
      resolve();
    };
    waiting.add(come);
    return promise;
  }

  /** Gives the slot to the request that has waited longest. */
  #leave(tenantId: string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
      return;
    }
    line.taken -= 1;
    if (line.taken === 0) this.#lines.delete(tenantId);
  }
}

function noPlace(): AppError {
  const detail =
    `${placesMax} exports of this tenant are being sent; wait until one ends, or send ` +
    'Prefer: respond-async';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '5' } });
}
