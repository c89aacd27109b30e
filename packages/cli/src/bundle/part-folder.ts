import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '../exit-codes.ts';
import { bundleFiles } from './manifest.ts';

/** What an export is of: one that was cut off is only continued by the same. */
export interface ExportTerms {
  tenantId: string;
  withheld: readonly string[];
}

/** How far the events of an export have got. */
export interface EventsDone {
  /** Where the next page begins; '' for the first one, null behind the last. */
  next: string | null;
  bytes: number;
  events: number;
  cutoffMs: number | null;
  /** The removals that the log records, for the bundle's index of them. */
  removals: { sequence: number; cutoff: string; size: number }[];
}

const stateName = '.export.json';

/**
 * A bundle in the making, `<folder>.part`: made whole before it gets
 * its name. What is in it after a crash is used again: files that
 * are there are complete, and the events end where the state says.
 */
export class PartFolder {
  readonly #target: string;
  readonly #path: string;
  readonly #terms: ExportTerms;
  readonly done: EventsDone;
  #events: number | null = null;

  /** Throws UsageError when the bundle exists, or a part of another one lies in the way. */
  constructor(target: string, terms: ExportTerms) {
    this.#target = target;
    this.#path = `${target}.part`;
    this.#terms = terms;
    if (existsSync(target)) throw new UsageError(`${target} exists already; name another folder`);
    this.done = this.#begun() ?? { next: '', bytes: 0, events: 0, cutoffMs: null, removals: [] };
    this.#saveState();
  }

  has(name: string): boolean {
    return existsSync(join(this.#path, name));
  }

  read(name: string): Buffer {
    return readFileSync(join(this.#path, name));
  }

  path(name: string): string {
    return join(this.#path, name);
  }

  /** Writes a whole file: under its own name it is never incomplete. */
  write(name: string, content: string | Uint8Array): void {
    const path = join(this.#path, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.tmp`, content, { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
  }

  /** Adds a page of body lines; once it returns, a crash continues behind them. */
  addEvents(lines: Uint8Array, page: Omit<EventsDone, 'bytes'>) {
    this.#events ??= this.#openEvents();
    writeSync(this.#events, lines, 0, lines.length, this.done.bytes);
    this.done.bytes += lines.length;
    this.done.events += page.events;
    this.done.next = page.next;
    this.done.removals.push(...page.removals);
    const cutoffs = [this.done.cutoffMs, page.cutoffMs].filter((ms) => ms !== null);
    this.done.cutoffMs = cutoffs.length === 0 ? null : Math.max(...cutoffs);
    fsyncSync(this.#events);
    this.#saveState();
  }

  /** The events written so far, in chunks that end anywhere. */
  *events(): Generator<Buffer, void, undefined> {
    if (!this.has(bundleFiles.events)) return;
    const fd = openSync(this.path(bundleFiles.events), 'r');
    try {
      for (let at = 0; at < this.done.bytes; ) {
        const chunk = Buffer.alloc(Math.min(2 ** 20, this.done.bytes - at));
        const read = readSync(fd, chunk, 0, chunk.length, at);
        if (read === 0) return;
        yield chunk.subarray(0, read);
        at += read;
      }
    } finally {
      closeSync(fd);
    }
  }

  /** Gives the bundle its name. */
  finish(): void {
    this.close();
    rmSync(join(this.#path, stateName));
    renameSync(this.#path, this.#target);
  }

  close(): void {
    if (this.#events !== null) closeSync(this.#events);
    this.#events = null;
  }

  /** The state of an export that was cut off, or null. */
  #begun(): EventsDone | null {
    if (!this.has(stateName)) {
      if (existsSync(this.#path)) throw this.#inTheWay();
      return null;
    }
    const { terms, done } = JSON.parse(this.read(stateName).toString());
    if (!isDeepStrictEqual(terms, { ...this.#terms })) throw this.#inTheWay();
    return done;
  }

  #inTheWay(): UsageError {
    return new UsageError(`${this.#path} belongs to another export; remove it first`);
  }

  #openEvents(): number {
    const fd = openSync(join(this.#path, bundleFiles.events), 'a+', 0o600);
    closeSync(fd);
    const events = openSync(join(this.#path, bundleFiles.events), 'r+');
    // What follows was on its way to the disk when the export was cut off.
    ftruncateSync(events, this.done.bytes);
    return events;
  }

  #saveState(): void {
    this.write(stateName, JSON.stringify({ terms: this.#terms, done: this.done }));
  }
}
