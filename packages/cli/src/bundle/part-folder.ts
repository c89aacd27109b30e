import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { latest } from '@indelible/protocol';
import { chunksOf, interruptedExport, requireNew, writeWhole } from '../kept-file.ts';
import { bundleFiles } from './manifest.ts';

/** The terms of an export: an interrupted one continues only with the same terms. */
interface ExportTerms {
  tenantId: string;
  withheld: readonly string[];
}

/** The progress of an export's events. */
export interface EventsDone {
  /** Start of the next page; '' for the first, null after the last. */
  next: string | null;
  bytes: number;
  events: number;
  cutoffMs: number | null;
  /** The removals in the log, for the bundle's index. */
  removals: { sequence: number; cutoff: string; size: number }[];
}

interface State {
  terms: ExportTerms;
  done: EventsDone;
}

const stateName = '.export.json';

/**
 * A bundle being made, `<folder>.part`; renamed when it is complete. After a crash it is continued:
 * existing files are complete, and the events end where the state says.
 */
export class PartFolder {
  readonly #target: string;
  readonly #path: string;
  readonly #terms: ExportTerms;
  readonly done: EventsDone;
  #events: number | null = null;

  /**
   * Throws UsageError if the bundle exists, its folder does not, or the part folder of another
   * export exists.
   */
  constructor(target: string, terms: ExportTerms) {
    this.#target = target;
    this.#path = `${target}.part`;
    this.#terms = terms;
    requireNew(target, 'folder');
    const begun = interruptedExport<State>(this.#path, this.path(stateName), terms);
    this.done = begun?.done ?? { next: '', bytes: 0, events: 0, cutoffMs: null, removals: [] };
  }

  has(name: string): boolean {
    return existsSync(this.path(name));
  }

  read(name: string): Buffer {
    return readFileSync(this.path(name));
  }

  path(name: string): string {
    return join(this.#path, name);
  }

  /** Writes a file atomically: under its own name it is always complete. */
  write(name: string, content: string | Uint8Array): void {
    // With the first file, not before: a refused export leaves nothing behind.
    if (name !== stateName && !this.has(stateName)) this.#saveState();
    mkdirSync(dirname(this.path(name)), { recursive: true, mode: 0o700 });
    writeWhole(this.path(name), content);
  }

  /** Adds a page of body lines; after it returns, a crash continues after this page. */
  addEvents(lines: Uint8Array, page: Omit<EventsDone, 'bytes'>) {
    this.#events ??= this.#openEvents();
    writeSync(this.#events, lines, 0, lines.length, this.done.bytes);
    this.done.bytes += lines.length;
    this.done.events += page.events;
    this.done.next = page.next;
    this.done.removals.push(...page.removals);
    this.done.cutoffMs = latest(this.done.cutoffMs, page.cutoffMs);
    fsyncSync(this.#events);
    this.#saveState();
  }

  /** The events written so far, in chunks of any length. */
  *events(): Generator<Buffer, void, undefined> {
    if (!this.has(bundleFiles.events)) return;
    const fd = openSync(this.path(bundleFiles.events), 'r');
    try {
      yield* chunksOf(fd, this.done.bytes);
    } finally {
      closeSync(fd);
    }
  }

  /** Renames it to the bundle's name. */
  finish(): void {
    this.close();
    rmSync(this.path(stateName));
    renameSync(this.#path, this.#target);
  }

  close(): void {
    if (this.#events !== null) closeSync(this.#events);
    this.#events = null;
  }

  #openEvents(): number {
    const { O_CREAT, O_RDWR } = constants;
    const events = openSync(this.path(bundleFiles.events), O_CREAT | O_RDWR, 0o600);
    // Bytes after this were being written when the export was interrupted.
    ftruncateSync(events, this.done.bytes);
    return events;
  }

  #saveState(): void {
    const state: State = { terms: this.#terms, done: this.done };
    this.write(stateName, JSON.stringify(state));
  }
}
