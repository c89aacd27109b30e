import { readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { errorOf } from '../error-of.ts';
import { makeSetAside } from './set-aside.ts';
import {
  decodeRecords,
  OpenSpoolFile,
  recordOverhead,
  type SpoolFile,
  spoolFilesIn,
} from './spool-file.ts';
import { SpoolFolders, type TakenFolder, tagOf } from './spool-folders.ts';
import { SpoolWindow } from './spool-window.ts';

export interface SpoolOptions {
  root: string;
  /** The most bytes of all spool files; more is refused like on a full disk. */
  bytesMax: number;
  /** A file that cannot be read, or holds other data; its readable records are delivered. */
  onDamaged: (error: Error) => void;
  /** A text that stays with the events, for the next recorder that takes them over. */
  note?: () => string;
  onNote?: (note: string) => void;
}

// Read into memory at once, and sent again after a crash.
const fileBytesMax = 4 * 2 ** 20;
// The open spool file keeps its delivered events: a small part of the limit.
const filesMin = 16;

/**
 * Events on disk, first in, first out, in a chain of files. A file is removed when all its events
 * are delivered. Events of a waiting tenant stay in the window, and others pass them as long as the
 * window has room. What is delivered of a file is not written down: after the process has ended,
 * those events are sent again under their ids, which records none twice.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #folders: SpoolFolders;
  readonly #fileBytesMax: number;
  /** The oldest first. Files that were taken over stand behind those that were there. */
  readonly #files: SpoolFile[] = [];
  readonly #window = new SpoolWindow();
  #own: string | null = null;
  #open: SpoolFile | null = null;
  #fileNumber = 0;
  /** Resolves when every closed spool file is synced. */
  #sealing: Promise<void> = Promise.resolve();
  #appended = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#folders = new SpoolFolders(options.root, options.note);
    this.#fileBytesMax = Math.min(fileBytesMax, options.bytesMax / filesMin);
  }

  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  get bytes(): number {
    return this.#sum('size');
  }

  /** The number of events that are not delivered yet. */
  get events(): number {
    return this.#sum('events');
  }

  /** How many events there ever were; `events` of them have not left. */
  get appended(): number {
    return this.#appended;
  }

  #sum(what: 'size' | 'events'): number {
    return this.#files.reduce((sum, spoolFile) => sum + spoolFile[what], 0);
  }

  /** Appends all of them or none; throws if the disk, or `bytesMax`, does not allow it. */
  append(texts: readonly string[]): void {
    try {
      this.#append(texts);
    } catch (cause) {
      throw this.#notWritten(cause);
    }
  }

  #notWritten(cause: unknown): Error {
    const why = `the spool folder ${this.#options.root} takes no events: ${errorOf(cause).message}`;
    return new Error(`${why}. Until it does, new events wait only in memory`, { cause });
  }

  #append(texts: readonly string[]): void {
    const size = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + recordOverhead, 0);
    const { bytesMax } = this.#options;
    if (this.bytes + size > bytesMax) throw new Error(`it is full (spoolBytesMax: ${bytesMax})`);
    const [spoolFile, open] = this.#writable();
    open.append(texts);
    spoolFile.size += size;
    spoolFile.events += texts.length;
    this.#appended += texts.length;
  }

  /** The next undelivered events of tenants that do not wait; empty if there are none to send. */
  peek(eventsMax: number, bytesMax: number, waiting: ReadonlySet<string>): string[] {
    for (;;) {
      const { texts, isAll } = this.#window.choose(eventsMax, bytesMax, waiting);
      if (!isAll || texts.length === eventsMax || !this.#readOn()) return texts;
    }
  }

  /** Takes for each event of the last `peek` whether it was delivered. */
  settle(isDelivered: readonly boolean[]): void {
    const spoolFiles = this.#window.settle(isDelivered);
    for (const spoolFile of spoolFiles) spoolFile.events -= 1;
    for (const spoolFile of new Set(spoolFiles)) this.#finish(spoolFile);
  }

  /** Syncs appended events to disk. */
  async sync(): Promise<void> {
    await this.#sealing;
    await this.#open?.open?.sync();
  }

  /** Takes over abandoned folders of other processes. Throws if the disk cannot be written. */
  takeOver(): void {
    this.#folders.touch();
    for (const folder of this.#abandoned()) {
      try {
        this.#add(folder);
      } catch (error) {
        // An unreadable folder must not block the others; a later call tries again.
        this.#folders.release(folder.path);
        this.#warn(error);
      }
    }
  }

  #abandoned(): TakenFolder[] {
    try {
      return this.#folders.takeOver();
    } catch (cause) {
      throw this.#notWritten(cause);
    }
  }

  #add({ path, wasReleased, note }: TakenFolder): void {
    const found = spoolFilesIn(path);
    for (const spoolFile of found.filter(({ size }) => size === 0)) {
      // A process that is killed while it is idle leaves its last file empty.
      const isIdle = !wasReleased && spoolFile === found.at(-1);
      if (!isIdle) this.#damaged(spoolFile, 'it is empty, and its events are lost');
      rmSync(spoolFile.path, { force: true });
    }
    const spoolFiles = found.filter(({ size }) => size > 0);
    this.#files.push(...spoolFiles);
    for (const { events } of spoolFiles) this.#appended += events;
    if (spoolFiles.length === 0) this.#folders.remove(path);
    else this.#options.onNote?.(note);
  }

  /** Releases undelivered events to the next recorder of the same folder. */
  close(): void {
    try {
      this.#open?.open?.closeSync();
      if (this.#open?.size === 0) rmSync(this.#open.path, { force: true });
    } catch (error) {
      this.#warn(error);
    }
    const held = new Set(
      this.#files.filter(({ size }) => size > 0).map(({ path }) => dirname(path)),
    );
    if (this.#own !== null && !held.has(this.#own)) this.#folders.remove(this.#own);
    for (const folder of held) this.#folders.release(folder);
  }

  #writable(): [SpoolFile, OpenSpoolFile] {
    if (this.#own !== null && !this.#folders.isStillOurs(this.#own)) this.#lose(this.#own);
    const last = this.#open;
    if (last?.open && last.size < this.#fileBytesMax) return [last, last.open];
    this.#seal();
    this.#own ??= this.#folders.make();
    this.#fileNumber += 1;
    const path = join(this.#own, `${String(this.#fileNumber).padStart(10, '0')}.log`);
    const open = new OpenSpoolFile(path);
    this.#open = { path, open, size: 0, events: 0, readTo: 0, isDamaged: false };
    this.#files.push(this.#open);
    return [this.#open, open];
  }

  #seal(): void {
    const last = this.#open;
    this.#open = null;
    if (last === null) return;
    const closed = last.open?.close().catch(this.#options.onDamaged);
    last.open = null;
    this.#sealing = Promise.all([this.#sealing, closed]).then(() => {});
    this.#finish(last);
  }

  /** Another process took the folder as abandoned, and now delivers its events. */
  #lose(folder: string): void {
    this.#seal();
    for (const spoolFile of this.#files.filter(({ path }) => dirname(path) === folder)) {
      this.#drop(spoolFile);
    }
    this.#own = null;
  }

  /** Reads the next part of the chain; false if there is none, or the window is full. */
  #readOn(): boolean {
    const spoolFile = this.#files.find(({ readTo, size }) => readTo < size);
    if (spoolFile === undefined || this.#window.isFull) return false;
    try {
      this.#read(spoolFile);
      return true;
    } catch (error) {
      if (isPassing(error)) return false;
      // Taken over meanwhile, or unreadable: it must not block the rest.
      this.#damaged(spoolFile, errorOf(error).message);
      if (spoolFile.open) return false; // it is tried again with the next event
      this.#drop(spoolFile);
      return true;
    }
  }

  #read(spoolFile: SpoolFile): void {
    const { open, path, readTo, size } = spoolFile;
    const bytes = open ? open.read(readTo) : readFileSync(path).subarray(readTo);
    // The actual size, even if the file was truncated: nothing more will come.
    spoolFile.readTo += bytes.length;
    spoolFile.size = spoolFile.readTo;
    const { texts, damagedBytes } = decodeRecords(bytes);
    const lost = damagedBytes + Math.max(0, size - spoolFile.size);
    if (lost > 0) this.#damaged(spoolFile, `${lost} bytes are gone or not a complete record`);
    this.#window.push(spoolFile, texts);
    // Corrects the count of lines: damaged lines are not events.
    spoolFile.events = this.#window.eventsOf(spoolFile);
    this.#finish(spoolFile);
  }

  #damaged(spoolFile: SpoolFile, what: string): void {
    spoolFile.isDamaged = true;
    this.#warn(new Error(`the spool's file ${spoolFile.path} is damaged: ${what}`));
  }

  /** Removes the file if everything in it is delivered. */
  #finish(spoolFile: SpoolFile): void {
    const { open, path, readTo, size, events } = spoolFile;
    if (readTo < size || events > 0) return;
    if (open !== null) {
      open.empty();
      Object.assign(spoolFile, { size: 0, readTo: 0 });
      return;
    }
    this.#drop(spoolFile);
    try {
      this.#remove(spoolFile);
    } catch (error) {
      this.#warn(error); // sent again later, which records nothing twice
    }
    const folder = dirname(path);
    const isUsed =
      folder === this.#own || this.#files.some((each) => dirname(each.path) === folder);
    if (!isUsed) this.#folders.remove(folder);
  }

  /** A damaged file is set aside, for an operator who wants to see what it holds. */
  #remove({ path, isDamaged, size }: SpoolFile): void {
    if (!isDamaged || size === 0) {
      rmSync(path, { force: true });
      return;
    }
    const name = `${tagOf(dirname(path))}-${basename(path, '.log')}.damaged`;
    const kept = join(makeSetAside(this.#options.root), name);
    renameSync(path, kept);
    this.#warn(new Error(`the damaged file ${path} was set aside as ${kept}`));
  }

  #warn(cause: unknown): void {
    this.#options.onDamaged(errorOf(cause));
  }

  #drop(spoolFile: SpoolFile): void {
    const at = this.#files.indexOf(spoolFile);
    if (at !== -1) this.#files.splice(at, 1);
    this.#window.drop(spoolFile);
  }
}

/** A temporary error: this process cannot open or read a file at the moment. */
function isPassing(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(code);
}
