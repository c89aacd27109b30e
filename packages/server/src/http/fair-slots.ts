import type { AppError } from './problem.ts';

export interface SlotLimits {
  /** Of all tenants together. */
  slotsMax: number;
  slotsPerTenant: number;
  /** Waiting calls of one tenant. */
  waitingPerTenant: number;
  waitMs: number;
}

interface Line {
  taken: number;
  /** Called when it gets a slot. */
  waiting: Set<() => void>;
}

/**
 * Limits the concurrent calls of one kind, over all tenants and for each. A free slot goes to
 * tenants in rotation, so that a tenant with a thousand calls delays another by one call.
 */
export class FairSlots {
  readonly #limits: SlotLimits;
  readonly #refusal: () => AppError;
  /** In the order in which tenants get the next free slot. */
  readonly #lines = new Map<string, Line>();
  #taken = 0;

  constructor(limits: SlotLimits, refusal: () => AppError) {
    this.#limits = limits;
    this.#refusal = refusal;
  }

  /**
   * Takes a slot; the returned function releases it, once. Throws the refusal if too many of the
   * tenant's calls wait, if none becomes free in time, or if the caller has `gone`.
   */
  async take(tenantId: string, gone: AbortSignal): Promise<() => void> {
    const line = this.#lines.get(tenantId) ?? { taken: 0, waiting: new Set() };
    this.#lines.set(tenantId, line);
    if (this.#isFree(line)) this.#grant(tenantId, line);
    else await this.#wait(tenantId, line, gone);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#release(tenantId, line);
    };
  }

  #isFree(line: Line): boolean {
    return this.#taken < this.#limits.slotsMax && line.taken < this.#limits.slotsPerTenant;
  }

  #grant(tenantId: string, line: Line): void {
    line.taken += 1;
    this.#taken += 1;
    // Moves the tenant behind all others.
    this.#lines.delete(tenantId);
    this.#lines.set(tenantId, line);
  }

  #wait(tenantId: string, line: Line, gone: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (line.waiting.size >= this.#limits.waitingPerTenant || gone.aborted) {
      reject(this.#refusal());
      return promise;
    }
    const end = () => {
      clearTimeout(timer);
      gone.removeEventListener('abort', refuse);
      line.waiting.delete(come);
    };
    const come = () => {
      end();
      resolve();
    };
    const refuse = () => {
      end();
      this.#forget(tenantId, line);
      reject(this.#refusal());
    };
    const timer = setTimeout(refuse, this.#limits.waitMs);
    gone.addEventListener('abort', refuse);
    line.waiting.add(come);
    return promise;
  }

  #release(tenantId: string, line: Line): void {
    line.taken -= 1;
    this.#taken -= 1;
    this.#forget(tenantId, line);
    for (const [id, next] of this.#lines) {
      const [come] = next.waiting;
      if (come === undefined || !this.#isFree(next)) continue;
      this.#grant(id, next);
      come();
      return;
    }
  }

  #forget(tenantId: string, line: Line): void {
    if (line.taken === 0 && line.waiting.size === 0) this.#lines.delete(tenantId);
  }
}
