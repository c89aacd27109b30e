/** Rings once, that long after it was last set. Does not keep the process running. */
export class Alarm {
  readonly #ring: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  set(ms: number): void {
    this.clear();
    // Timers drop fractions and may ring up to a millisecond early by `performance.now`. The woken
    // code would find that it is too early, and nothing would wake it again.
    this.#timer = setTimeout(this.#ring, Math.ceil(ms) + 1).unref();
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
