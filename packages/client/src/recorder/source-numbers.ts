import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tenantUuid } from '@indelible/protocol';
import { type SourceStamp, sourceOf } from '../delivery/ready-event.ts';
import { errorOf } from '../error-of.ts';
import { SpoolFolders, tagOf } from './spool-folders.ts';

/** How many numbers are reserved by one write; a crash leaves the unused ones as a gap. */
const blockSize = 100;

interface Counter {
  next: number;
  /** The first number that is not reserved. */
  end: number;
}

/**
 * Numbers the events of each tenant, under a source id `<name>/<instance>`. An instance is a folder
 * below `root`, with a file for each tenant that holds its first unreserved number. A recorder
 * takes over the instance of one that has ended, and continues its numbers. After a crash, the rest
 * of the reserved block is missing, because its events may be. Without `root`, or if the folder
 * fails or is lost, instance and numbers end with the process.
 */
export class SourceNumbers {
  readonly #name: string;
  readonly #onProblem: (error: Error) => void;
  readonly #folders: SpoolFolders | null;
  readonly #counters = new Map<string, Counter>();
  #folder: string | null = null;
  #instance = randomBytes(13).toString('hex');
  #isClosed = false;

  constructor(name: string, root: string | null, onProblem: (error: Error) => void) {
    this.#name = name;
    this.#onProblem = onProblem;
    this.#folders = root === null ? null : new SpoolFolders(join(root, 'sources', name));
    try {
      if (this.#folders !== null) this.#open(this.#folders);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The next number; none for what is no tenant, nor after `close`. Never throws. */
  stamp = (tenant: string): SourceStamp | undefined => {
    const tenantId = tenant === '' ? '' : tenantUuid(tenant);
    if (this.#isClosed || tenantId === null) return undefined;
    let counter = this.#counters.get(tenantId);
    if (counter === undefined || counter.next === counter.end) {
      counter = this.#reserve(tenantId, counter?.next);
      this.#counters.set(tenantId, counter);
    }
    counter.next += 1;
    const id = sourceOf(`${this.#name}/${this.#instance}`, tenantId);
    return { id, sequence: counter.next - 1 };
  };

  /** Keeps the instance, as a sign of life. */
  touch(): void {
    this.#folders?.touch();
  }

  /** Gives reserved numbers back, and the instance to the next recorder. */
  close(): void {
    this.#isClosed = true;
    if (this.#folders === null || this.#folder === null) return;
    try {
      for (const [tenantId, { next, end }] of this.#counters) {
        if (next !== end && this.#folders.isStillOurs(this.#folder)) this.#write(tenantId, next);
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#folders.release(this.#folder);
  }

  #open(folders: SpoolFolders): void {
    const [first, ...others] = folders.takeOver();
    for (const { path } of others) folders.release(path);
    this.#folder = first?.path ?? folders.make();
    this.#instance = tagOf(this.#folder);
  }

  #reserve(tenantId: string, next: number | undefined): Counter {
    try {
      if (this.#folder === null || this.#folders === null) {
        return { next: next ?? 0, end: Number.POSITIVE_INFINITY };
      }
      if (!this.#folders.isStillOurs(this.#folder)) throw new Error(`${this.#folder} is lost`);
      const from = next ?? readNumber(this.#pathOf(tenantId));
      this.#write(tenantId, from + blockSize);
      return { next: from, end: from + blockSize };
    } catch (error) {
      this.#fail(error);
      return { next: 0, end: Number.POSITIVE_INFINITY };
    }
  }

  /** Continues under a new instance, in memory. */
  #fail(error: unknown): void {
    const why = `the numbers of the source ${this.#name} cannot be kept on disk`;
    const then = 'They begin again, for as long as this process runs';
    this.#onProblem(new Error(`${why}: ${errorOf(error).message}. ${then}`, { cause: error }));
    this.#folder = null;
    this.#instance = randomBytes(13).toString('hex');
    this.#counters.clear();
  }

  #pathOf(tenantId: string): string {
    return join(this.#folder ?? '', tenantId || 'default');
  }

  #write(tenantId: string, number: number): void {
    const path = this.#pathOf(tenantId);
    writeFileSync(`${path}.new`, String(number), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

function readNumber(path: string): number {
  try {
    const number = Number(readFileSync(path, 'utf8') || 'nothing');
    if (!Number.isSafeInteger(number)) throw new Error(`${path} does not hold a number`);
    return number;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
