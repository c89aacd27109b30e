const patienceMs = 5_000;
const numbers = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof numbers;

/**
 * Ctrl-C and SIGTERM stop reading at once; batches in flight have five seconds. Further signals
 * have no effect: npx sends the Ctrl-C of the terminal a second time.
 */
export class Interruption {
  /** Stops reading. */
  readonly stop = new AbortController();
  /** Aborts calls in flight. */
  readonly cancel = new AbortController();
  #signal: Signal | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    for (const signal of Object.keys(numbers)) process.on(signal, this.#interrupt);
  }

  /** The exit status of an interrupted command, as in shells; null if not interrupted. */
  get exitCode(): number | null {
    return this.#signal === null ? null : 128 + numbers[this.#signal];
  }

  /** Closes the source; restores the default effect of signals. */
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
