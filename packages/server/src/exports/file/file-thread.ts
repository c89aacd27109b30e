import { MessageChannel, Worker } from 'node:worker_threads';
import type { ExportRow, Failure, FinishedFile } from '../store.ts';
import type { FileNews, FileRequest, ThreadSettings } from './make-files.thread.ts';

/** A file in the making. */
export interface FileInMaking {
  /** What there is so far. */
  rows: number;
  bytes: number;
  /** What came out, or why nothing did. */
  outcome: Promise<FinishedFile | Failure>;
}

/** A thread costs tens of megabytes, and a third of a second to start. */
const lingerMs = 10_000;
/** Its heap is kept small, where the one of requests may grow with them. */
const resourceLimits = {
  maxYoungGenerationSizeMb: 8,
  maxOldGenerationSizeMb: 256,
};

/**
 * Makes the files of export jobs in a thread of their own, one for all jobs of the process, so that
 * no request waits for them, nor memory grows by what they throw away. The thread is there while it
 * has something to do. `onError` hears what went wrong in it.
 */
export class FileThread {
  readonly #settings: ThreadSettings;
  readonly #onError: (error: unknown) => void;
  readonly #requests = new Int32Array(new SharedArrayBuffer(4));
  #worker: Worker | null = null;
  #making = 0;
  #ending: NodeJS.Timeout | undefined;

  constructor(settings: Omit<ThreadSettings, 'requests'>, onError: (error: unknown) => void) {
    this.#settings = { ...settings, requests: this.#requests };
    this.#onError = onError;
  }

  /** Somebody waits for an answer of this process: files step back, see step-back.ts. */
  noteRequest(): void {
    Atomics.add(this.#requests, 0, 1);
  }

  /** Ends early with whatever failure once `signal` is aborted; nothing of the file stays then. */
  make(row: ExportRow, signal: AbortSignal): FileInMaking {
    const { port1: near, port2: far } = new MessageChannel();
    const file: FileInMaking = { rows: 0, bytes: 0, outcome: Promise.resolve('unexpected') };
    file.outcome = new Promise((resolve) => {
      near.on('message', (news: FileNews) => {
        if ('outcome' in news) resolve(news.outcome);
        else if ('error' in news) this.#onError(news.error);
        else Object.assign(file, news);
      });
      // Also closed by the end of the thread, whatever ended it.
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

  /** Ends the thread; what it still makes is lost. */
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
    const program = new URL('./make-files.thread.ts', import.meta.url);
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
