import { finished, type Writable } from 'node:stream';
import { AppError } from '../http/index.ts';

/** The most answers with a file of one tenant at once, in one process. */
const slotsMax = 8;

interface Line {
  taken: number;
  /** Called when it gets a slot. */
  waiting: Set<() => void>;
}

/**
 * Limits the files that are sent at once: each holds a page in memory as long as its reader takes,
 * and a tenant may have many readers. Small files end quickly, so a further request waits for a
 * slot before it is refused. Jobs need no slot.
 */
export class StreamSlots {
  readonly #lines = new Map<string, Line>();
  readonly #waitMs: number;

  constructor(waitMs = 5_000) {
    this.#waitMs = waitMs;
  }

  /**
   * Takes a slot until the answer ends or breaks. Throws `rate_limited` if none becomes free in
   * time.
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
