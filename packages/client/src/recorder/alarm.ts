/** Rings once, so long after it was last set; keeps no process from ending. */
export class Alarm {
  readonly #ring: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  set(ms: number): void {
    this.clear();
    // Timers cut off fractions, and end up to a millisecond early by `performance.now`: whoever is
    // woken then would find that it is not time yet, and nothing would wake it again.
    this.#timer = setTimeout(this.#ring, Math.ceil(ms) + 1).unref();
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
