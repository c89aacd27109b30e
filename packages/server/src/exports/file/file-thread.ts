import { extname } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import type { ExportRow, Failure, FinishedFile } from '../store.ts';
import type { FileNews, FileRequest, ThreadSettings } from './make-files.thread.ts';

export interface FileInMaking {
  /** The rows so far. */
  rows: number;
  /** The file's facts, or the failure. */
  outcome: Promise<FinishedFile | Failure>;
}

/** A thread takes tens of megabytes, and a third of a second to start. */
const lingerMs = 10_000;
/** Keeps its heap small; the heap of the main thread may grow. */
const resourceLimits = {
  maxYoungGenerationSizeMb: 8,
  maxOldGenerationSizeMb: 256,
};

/**
 * Makes the files of all export jobs of the process in one thread, so that no request waits for
 * them and their garbage does not grow the heap. The thread exists only while there is work.
 * `onError` gets its errors.
 */
export class FileThread {
  readonly #settings: ThreadSettings;
  readonly #onError: (error: unknown) => void;
  #worker: Worker | null = null;
  #making = 0;
  #ending: NodeJS.Timeout | undefined;

  constructor(settings: ThreadSettings, onError: (error: unknown) => void) {
    this.#settings = settings;
    this.#onError = onError;
  }

  /** Ends early with a failure after `signal` is aborted; no part of the file remains. */
  make(row: ExportRow, signal: AbortSignal): FileInMaking {
    const { port1: near, port2: far } = new MessageChannel();
    const file: FileInMaking = { rows: 0, outcome: Promise.resolve('unexpected') };
    file.outcome = new Promise((resolve) => {
      near.on('message', (news: FileNews) => {
        if ('outcome' in news) resolve(news.outcome);
        else if ('error' in news) this.#onError(news.error);
        else file.rows = news.rows;
      });
      // The port also closes when the thread ends for any reason.
      near.once('close', () => resolve('unexpected'));
    });
    const stop = () => near.postMessage('stop');
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    this.#begin({ row, port: far });
    file.outcome.finally(() => {
      signal.removeEventListener('abort', stop);
      this.#end();
    });
    return file;
  }

  /** Ends the thread; unfinished files are lost. */
  async close(): Promise<void> {
    clearTimeout(this.#ending);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #begin(request: FileRequest): void {
    clearTimeout(this.#ending);
    this.#making += 1;
    this.#worker ??= this.#start();
    this.#worker.postMessage(request, [request.port]);
  }

  #start(): Worker {
    // In a bundle it is a script beside this one.
    const program = new URL(`./make-files.thread${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(program, { workerData: this.#settings, resourceLimits });
    worker.on('error', this.#onError);
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null;
    });
    return worker;
  }

  #end(): void {
    this.#making -= 1;
    if (this.#making > 0) return;
    this.#ending = setTimeout(() => void this.close(), lingerMs).unref();
  }
}
