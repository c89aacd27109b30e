const patienceMs = 5_000;
const numbers = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof numbers;

/**
 * What Ctrl-C and SIGTERM do to an import: the reading stops at once, and what is under way has
 * five seconds to be settled. Further signals change nothing: npx passes on the Ctrl-C that the
 * terminal has already sent.
 */
export class Interruption {
  /** Ends the reading. */
  readonly stop = new AbortController();
  /** Ends calls that are under way. */
  readonly cancel = new AbortController();
  #signal: Signal | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    for (const signal of Object.keys(numbers)) process.on(signal, this.#interrupt);
  }

  /** The exit status of an interrupted command, as shells give it; null when nothing happened. */
  get exitCode(): number | null {
    return this.#signal === null ? null : 128 + numbers[this.#signal];
  }

  /** Closes the source in any case; signals do again what they always do. */
  end(): void {
    this.stop.abort(new Error('ended'));
    clearTimeout(this.#timer);
    for (const signal of Object.keys(numbers)) process.off(signal, this.#interrupt);
  }

  readonly #interrupt = (signal: Signal): void => {
    if (this.#signal !== null) return;
    this.#signal = signal;
    this.stop.abort(new Error('interrupted'));
    this.#timer = setTimeout(() => this.cancel.abort(new Error('interrupted')), patienceMs);
  };
}
