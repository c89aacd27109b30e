import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ThreadSettings } from './draft-part.thread.ts';
import type { DraftedPart, DraftWanted } from './draft-part.ts';

/** Starting the thread takes as long as so many entries. */
export const threadFrom = 20_000;

/**
 * V8 lets garbage grow by these. With 256 MB of the old generation an event takes 4 us more, for
 * the same memory; without limits V8 takes 50 MiB more.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 24, maxOldGenerationSizeMb: 2_000 };

export type DraftThread = ReturnType<typeof createDraftThread>;

/**
 * Makes the files of large parts in a thread with a session of its own, so that requests do not
 * wait for them, and their garbage does not grow the heap. It starts with the first part.
 */
export function createDraftThread(settings: ThreadSettings) {
  let worker: Worker | null = null;
  const start = () => {
    // In a bundle it is a script beside this one.
    const program = new URL(`./draft-part.thread${extname(import.meta.filename)}`, import.meta.url);
    const started = new Worker(program, { workerData: settings, resourceLimits });
    // The next part gets another thread.
    const forget = () => {
      if (worker === started) worker = null;
    };
    return started.once('error', forget).once('exit', forget);
  };
  return {
    /** One at a time. */
    async draft(wanted: DraftWanted): Promise<DraftedPart> {
      worker ??= start();
      const over = new AbortController();
      worker.postMessage(wanted);
      try {
        // Each of them throws if the thread ends by an error.
        const [answer]: (DraftedPart | Error)[] = await Promise.race([
          once(worker, 'message', over),
          once(worker, 'messageerror', over),
          once(worker, 'exit', over).then(() => [new Error('the thread has ended')]),
        ]);
        if (answer === undefined || answer instanceof Error) throw answer;
        return answer;
      } finally {
        over.abort();
      }
    },
    async close(): Promise<void> {
      const ending = worker;
      worker = null;
      await ending?.terminate();
    },
  };
}
