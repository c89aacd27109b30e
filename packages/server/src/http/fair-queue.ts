import type { AppError } from './problem.ts';

export interface FairLimits {
  /** What all callers together may have taken: calls, or bytes. */
  max: number;
  /** Waiting calls of one caller. */
  waitingPerCaller: number;
  waitMs: number;
  /**
   * A call must leave as much free as its caller has then, but no more than this. The more is
   * taken, the less each caller may take: so many callers with large calls leave room for small
   * calls of others, which overtake a large call that waits.
   */
  leavesMax?: number;
}

/** What a call asks for. */
export interface Wanted {
  caller: string;
  size: number;
  /** What its caller may have taken; a single call may always take more. */
  share: number;
  /**
   * Whether the call had it before. Its work must not be lost: it comes before the calls of its
   * caller that have not begun, and waits for as long as it takes.
   */
  again?: boolean;
}

interface Line {
  taken: number;
  waiting: Set<Waiting>;
}

interface Waiting extends Wanted {
  come(release: () => void): void;
}

/**
 * Bounds what calls of one kind have taken at the same time, of all callers and of each. What
 * becomes free goes to callers in rotation, so that one with a thousand calls delays another by one
 * call. While a large call waits for room, newer ones wait behind it, unless calls leave some free:
 * it is not overtaken for ever.
 */
export class FairQueue {
  readonly #limits: FairLimits;
  readonly #refusal: (wanted: Wanted) => AppError;
  /** In the order in which callers come next. */
  readonly #lines = new Map<string, Line>();
  #taken = 0;
  #waiting = 0;
  /** Whether a call waits for room that other callers have taken. */
  #isFull = false;

  constructor(limits: FairLimits, refusal: (wanted: Wanted) => AppError) {
    this.#limits = limits;
    this.#refusal = refusal;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Takes at once, or nothing: null. The returned function gives back, once. */
  tryTake(wanted: Wanted): (() => void) | null {
    const line = this.#lines.get(wanted.caller) ?? { taken: 0, waiting: new Set() };
    if (this.#isFull || (line.waiting.size > 0 && !wanted.again)) return null;
    return this.#fitsShare(line, wanted) && this.#fitsAll(wanted)
      ? this.#grant(line, wanted)
      : null;
  }

  /**
   * The same, but waits. Throws the refusal if the caller has `gone`, and, unless `again`, if too
   * many of its calls wait or there is no room in time.
   */
  async take(wanted: Wanted, gone?: AbortSignal): Promise<() => void> {
    return this.tryTake(wanted) ?? this.#wait(wanted, gone);
  }

  /** Whether the caller's own calls have taken its share. */
  hasTakenShare({ caller, size, share }: Wanted): boolean {
    const taken = this.#lines.get(caller)?.taken ?? 0;
    return taken > 0 && taken + size > share;
  }

  #fitsShare({ taken }: Line, { size, share }: Wanted): boolean {
    const { leavesMax = 0, max } = this.#limits;
    const left = Math.min(taken + size, leavesMax);
    if (left > 0 && this.#taken > 0 && this.#taken + size + left > max) return false;
    return taken === 0 || taken + size <= share;
  }

  #fitsAll({ size }: Wanted): boolean {
    return this.#taken === 0 || this.#taken + size <= this.#limits.max;
  }

  #grant(line: Line, { caller, size }: Wanted): () => void {
    line.taken += size;
    this.#taken += size;
    // Moves the caller behind all others.
    this.#lines.delete(caller);
    this.#lines.set(caller, line);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      line.taken -= size;
      this.#taken -= size;
      this.#forget(caller, line);
      this.#letIn();
    };
  }

  #wait(wanted: Wanted, gone: AbortSignal | undefined): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const { caller, again = false } = wanted;
    const line = this.#lines.get(caller) ?? { taken: 0, waiting: new Set() };
    const isCrowded = line.waiting.size >= this.#limits.waitingPerCaller;
    if ((isCrowded && !again) || gone?.aborted) {
      reject(this.#refusal(wanted));
      return promise;
    }
    const end = () => {
      clearTimeout(timer);
      gone?.removeEventListener('abort', refuse);
      line.waiting.delete(waiting);
      this.#waiting--;
    };
    const refuse = () => {
      end();
      reject(this.#refusal(wanted));
      this.#forget(caller, line);
      this.#letIn(); // others may have waited behind this one only
    };
    const waiting: Waiting = {
      ...wanted,
      come: (release) => {
        end();
        resolve(release);
      },
    };
    const timer = again ? undefined : setTimeout(refuse, this.#limits.waitMs);
    gone?.addEventListener('abort', refuse);
    const isNext = (again || line.waiting.size === 0) && this.#fitsShare(line, wanted);
    this.#isFull ||= isNext && !this.#fitsAll(wanted);
    line.waiting = again ? behindBegun(line.waiting, waiting) : line.waiting.add(waiting);
    this.#lines.set(caller, line);
    this.#waiting++;
    return promise;
  }

  #letIn(): void {
    let next = this.#waiting > 0 ? this.#next() : null;
    while (next && this.#fitsAll(next.waiting)) {
      const { line, waiting } = next;
      waiting.come(this.#grant(line, waiting));
      next = this.#next();
    }
    this.#isFull = next !== null;
  }

  /** The next call whose caller has not taken its share. */
  #next(): { line: Line; waiting: Waiting } | null {
    for (const line of this.#lines.values()) {
      const [waiting] = line.waiting;
      if (waiting && this.#fitsShare(line, waiting)) return { line, waiting };
    }
    return null;
  }

  #forget(caller: string, line: Line): void {
    if (line.taken === 0 && line.waiting.size === 0) this.#lines.delete(caller);
  }
}

function behindBegun(all: ReadonlySet<Waiting>, next: Waiting): Set<Waiting> {
  const begun = [...all].filter(({ again }) => again);
  return new Set([...begun, next, ...all]);
}
