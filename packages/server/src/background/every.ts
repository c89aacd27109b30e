/** Recurring work of this process. Its runs never overlap. */
export interface Recurring {
  /** Its name in metrics and log lines. */
  work: string;
  everyMs: number;
  /** Before the first run; default: `everyMs`. */
  firstMs?: number;
  /**
   * One run. True or false: success or failure; null: another process runs it, or it is not due.
   * After `stopping` is aborted, ends with its current step.
   */
  run: (stopping: AbortSignal) => Promise<boolean | null>;
}

/** Called after each run or attempt, with its outcome and error. */
export type Ended = (work: string, ok: boolean, error?: unknown) => void;

/**
 * Runs `work` in this interval, one run at a time, until the returned function is called, which
 * waits for the last run.
 */
export function repeating(
  everyMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(work).catch(onError);
  }, everyMs);
  return () => {
    clearInterval(timer);
    return running;
  };
}

export type Timers = ReturnType<typeof createTimers>;

export function createTimers(all: readonly Recurring[], ended: Ended) {
  const stopping = new AbortController();
  const running = new Map<string, Promise<void>>();
  let timers: NodeJS.Timeout[] = [];
  const attempt = async ({ work, run }: Recurring) => {
    try {
      const ok = await run(stopping.signal);
      if (ok !== null) ended(work, ok);
    } catch (error) {
      if (!stopping.signal.aborted) ended(work, false, error);
    }
  };
  const tick = (each: Recurring): Promise<void> => {
    const { work } = each;
    const run = running.get(work) ?? attempt(each).finally(() => running.delete(work));
    running.set(work, run);
    return run;
  };
  const pause = () => {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
  };
  return {
    /** One run now, as by the timer. Never rejects. */
    async run(work: string) {
      const found = all.find((each) => each.work === work);
      if (!found) throw new Error(`there is no background work called ${work}`);
      await tick(found);
    },
    start() {
      for (const each of all) {
        const { everyMs, firstMs = everyMs } = each;
        const timer = setTimeout(() => {
          void tick(each);
          timers.push(setInterval(() => void tick(each), everyMs));
        }, firstMs);
        timers.push(timer);
      }
    },
    /** Starts no further run. */
    pause,
    /** Waits for running work. */
    async stop() {
      pause();
      stopping.abort(new Error('the service is stopping'));
      await Promise.all(running.values());
    },
  };
}
