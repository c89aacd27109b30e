import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { BodyLines, EntryRange, ThreadSettings } from './compare-bodies.thread.ts';
import type { EntryFile } from './entry-file.ts';

/** Bytes of body lines, and the plan's cutoff stated with them. */
export interface BodyChunk {
  bytes: Uint8Array;
  cutoffMs: number | null;
  /** The entries of the lines, if the file of entries is still growing. */
  entries?: EntryRange;
}

interface ComparedChunk extends BodyChunk {
  /** For each line that ends in the chunk, its sequence if it is intact, else -1; or no lines. */
  intact: readonly number[];
}

export interface ComparedWanted {
  chunks: AsyncIterable<BodyChunk>;
  file: EntryFile;
  /** Entries to compare with. */
  size: number;
  tenantId: string | null;
  threads?: number | undefined;
}

/** Comparing fewer events is faster than starting threads. */
const eventsMin = 20_000;
/** The main thread cannot keep more of them busy. */
const threadsMax = 8;
/** Chunks in work for each thread: one, and the next one. */
const chunksEach = 2;

const lineFeed = 0x0a;

/** The chunks in their order, their ordinary lines compared with the entries in other threads. */
export async function* comparedChunks(
  wanted: ComparedWanted,
): AsyncGenerator<ComparedChunk, void, undefined> {
  const { size, chunks, threads: count = size < eventsMin ? 0 : threadsOfMachine() } = wanted;
  const threads = Array.from({ length: count }, () => new CompareThread(wanted));
  const pending: Promise<ComparedChunk | Error>[] = [];
  let [next, isLineStart] = [0, true];
  try {
    for await (const chunk of chunks) {
      const thread = threads[next % count];
      if (thread === undefined) {
        yield { ...chunk, intact: [] };
        continue;
      }
      next += 1;
      pending.push(thread.compare(chunk, isLineStart));
      isLineStart = chunk.bytes.at(-1) === lineFeed;
      if (pending.length < count * chunksEach) continue;
      yield answered(await pending.shift());
    }
    for (const each of pending) yield answered(await each);
  } finally {
    await Promise.all(threads.map((thread) => thread.close()));
  }
}

function answered(chunk: ComparedChunk | Error | undefined): ComparedChunk {
  if (chunk === undefined || chunk instanceof Error) throw chunk;
  return chunk;
}

function threadsOfMachine(): number {
  const cores = availableParallelism();
  return cores === 1 ? 0 : Math.min(cores, threadsMax);
}

class CompareThread {
  readonly #worker: Worker;
  /** Callers that wait for an answer; the thread answers in order. */
  readonly #waiting: ((lines: BodyLines | Error) => void)[] = [];
  #failure: Error | null = null;

  constructor({ file, size, tenantId }: ComparedWanted) {
    // In a bundle it is a script beside this one.
    const program = new URL(
      `./compare-bodies.thread${extname(import.meta.filename)}`,
      import.meta.url,
    );
    const workerData: ThreadSettings = { records: file.share(), size, tenantId };
    this.#worker = new Worker(program, { workerData });
    this.#worker.on('message', (lines: BodyLines) => this.#waiting.shift()?.(lines));
    this.#worker.on('error', (cause: unknown) => {
      this.#failure = cause instanceof Error ? cause : new Error(String(cause));
      for (const answer of this.#waiting.splice(0)) answer(this.#failure);
    });
  }

  /** An error is an answer: that of a later chunk comes while an earlier one is still awaited. */
  compare(
    { bytes, cutoffMs, entries }: BodyChunk,
    isLineStart: boolean,
  ): Promise<ComparedChunk | Error> {
    if (this.#failure !== null) return Promise.resolve(this.#failure);
    // The buffer moves to the thread and back, so that its bytes are copied once.
    const copy = new Uint8Array(bytes);
    this.#worker.postMessage({ bytes: copy, isLineStart, entries }, [copy.buffer]);
    return new Promise((resolve) => {
      this.#waiting.push((lines) =>
        resolve(lines instanceof Error ? lines : { ...lines, cutoffMs }),
      );
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
