import { finished, type Writable } from 'node:stream';
import { AppError } from '../http/index.ts';

/** Answers that may hold a file of one tenant at the same time, in one process. */
const slotsMax = 8;

interface Line {
  taken: number;
  /** Each is called when it gets a slot. */
  waiting: Set<() => void>;
}

/**
 * How many files may be sent at once: each holds a page in memory for as long as its reader likes,
 * and a tenant may have any number of readers. Small files end within moments, so a further request
 * waits for a slot before it is refused. Jobs need no slot.
 */
export class StreamSlots {
  readonly #lines = new Map<string, Line>();
  readonly #waitMs: number;

  constructor(waitMs = 5_000) {
    this.#waitMs = waitMs;
  }

  /**
   * Takes a slot until the answer has ended or broken off.
   * Throws `rate_limited` when none becomes free in time.
   */
  async take(tenantId: string, answer: Writable): Promise<void> {
    const line = this.#lines.get(tenantId) ?? { taken: 0, waiting: new Set() };
    this.#lines.set(tenantId, line);
    if (line.taken < slotsMax) line.taken += 1;
    else await this.#wait(line);
    finished(answer, () => this.#release(tenantId, line));
  }

  #wait({ waiting }: Line): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(come);
      reject(noSlot());
    }, this.#waitMs);
    const come = () => {
      clearTimeout(timer);
      resolve();
    };
    waiting.add(come);
    return promise;
  }

  /** Gives the slot to the request that has waited longest. */
  #release(tenantId: string, line: Line): void {
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

function noSlot(): AppError {
  const detail =
    `${slotsMax} exports of this tenant are being sent; wait until one ends, or send ` +
    'Prefer: respond-async';
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '5' } });
}
