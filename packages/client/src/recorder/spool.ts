import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tenantOf } from '../delivery/ready-event.ts';
import { errorOf } from '../error-of.ts';
import { decodeRecords, OpenSpoolFile, recordOverhead, rewriteSpoolFile } from './spool-file.ts';
import { SpoolFolders, type TakenFolder } from './spool-folders.ts';

export interface SpoolOptions {
  root: string;
  /** Of all spool files; more is refused like on a full disk. */
  bytesMax: number;
  /** A file that cannot be read, or holds other data; its readable records are delivered. */
  onDamaged: (error: Error) => void;
}

/** A file of events, in the order in which they were recorded. */
interface SpoolFile {
  path: string;
  /** While events are appended to it: of the last file only. */
  open: OpenSpoolFile | null;
  size: number;
  /** Undelivered events in it. */
  events: number;
  /** Bytes from here on are not read yet. */
  readTo: number;
  /** Records before `readTo`. */
  records: number;
  /** Numbers of delivered records after an undelivered one. */
  delivered: Set<number>;
  /** The tenants with events in it, after it was read completely and is no longer written. */
  tenants: ReadonlySet<string> | null;
}

/** Records of a spool file: `first` is the number of the first one, `at` the next index to read. */
interface Loaded {
  spoolFile: SpoolFile;
  texts: string[];
  first: number;
  at: number;
}

const unread = () => ({ readTo: 0, records: 0, delivered: new Set<number>(), tenants: null });

// Read into memory at once, and sent again after a crash.
const fileBytesMax = 4 * 2 ** 20;
// The open spool file keeps its delivered events: a small part of the limit.
const filesMin = 16;

/**
 * Events on disk, first in, first out, except for waiting tenants: those are skipped until
 * `rewind`. A spool file is deleted when all of it is delivered. After an earlier crash its events
 * are sent again under their ids, which records none twice. A file with only waiting events left is
 * rewritten without the delivered ones: one tenant's backlog must not fill the disk for all.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #folders: SpoolFolders;
  readonly #fileBytesMax: number;
  readonly #files: SpoolFile[] = [];
  #own: string | null = null;
  #fileNumber = 0;
  #loaded: Loaded | null = null;
  /** Indexes, in what is loaded, of the events that the last `peek` returned. */
  #peeked: number[] = [];
  /** Resolves when every closed spool file is synced. */
  #sealing: Promise<void> = Promise.resolve();
  #appended = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#folders = new SpoolFolders(options.root);
    this.#fileBytesMax = Math.min(fileBytesMax, options.bytesMax / filesMin);
  }

  get isEmpty(): boolean {
    return this.bytes === 0;
  }

  get bytes(): number {
    return this.#sum('size');
  }

  /** Those that are not delivered yet. */
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
    const [spoolFile, file] = this.#writable();
    file.append(texts);
    spoolFile.size += size;
    spoolFile.events += texts.length;
    this.#appended += texts.length;
  }

  /**
   * The next undelivered events of tenants that do not wait; fewer than exist. Empty if the next
   * spool file has only waiting ones, null at the end.
   */
  peek(eventsMax: number, bytesMax: number, waiting: ReadonlySet<string>): string[] | null {
    const loaded = this.#loaded ?? this.#load(waiting);
    if (loaded === null) return null;
    this.#peeked = nextOf(loaded, eventsMax, bytesMax, waiting);
    if (this.#peeked.length === 0) this.#pass(loaded);
    return this.#peeked.map((index) => loaded.texts[index] ?? '');
  }

  /** Takes for each event of the last `peek` whether it was delivered. */
  settle(isDelivered: readonly boolean[]): void {
    const loaded = this.#loaded;
    if (loaded === null) return;
    const { spoolFile, first, texts } = loaded;
    const indexes = this.#peeked.filter((_, index) => isDelivered[index]);
    for (const index of indexes) spoolFile.delivered.add(first + index);
    spoolFile.events -= indexes.length;
    loaded.at = (this.#peeked.at(-1) ?? loaded.at - 1) + 1;
    this.#peeked = [];
    if (loaded.at === texts.length) this.#pass(loaded);
  }

  /** Starts again at the first undelivered event. */
  rewind(): void {
    this.#loaded = null;
    for (const spoolFile of this.#files) [spoolFile.readTo, spoolFile.records] = [0, 0];
  }

  /** Syncs appended events to disk. */
  async sync(): Promise<void> {
    await this.#sealing;
    await this.#files.at(-1)?.open?.sync();
  }

  /** Takes over abandoned folders of other processes. Throws if the disk cannot be written. */
  takeOver(nowMs: number): void {
    this.#folders.touch();
    for (const folder of this.#abandoned(nowMs)) {
      try {
        this.#add(folder);
      } catch (error) {
        // An unreadable folder must not block the others; a later call tries again.
        this.#folders.release(folder.path);
        this.#warn(error);
      }
    }
  }

  #abandoned(nowMs: number): TakenFolder[] {
    try {
      return this.#folders.takeOver(nowMs);
    } catch (cause) {
      throw this.#notWritten(cause);
    }
  }

  #add({ path, wasReleased }: TakenFolder): void {
    const found = spoolFilesIn(path);
    for (const spoolFile of found.filter(({ size }) => size === 0)) {
      // A process that is killed while it is idle leaves its last file empty.
      const isIdle = !wasReleased && spoolFile === found.at(-1);
      if (!isIdle) this.#damaged(spoolFile, 'it is empty, and its events are lost');
      rmSync(spoolFile.path, { force: true });
    }
    const spoolFiles = found.filter(({ size }) => size > 0);
    // Behind the files that are there: a flush that waits for those must not wait for these.
    const last = this.#files.at(-1);
    if (last && last.size > 0) this.#seal();
    this.#files.splice(last?.size === 0 ? -1 : this.#files.length, 0, ...spoolFiles);
    for (const { events } of spoolFiles) this.#appended += events;
    if (spoolFiles.length === 0) this.#folders.remove(path);
  }

  /** Releases undelivered events to the next recorder of the same folder. */
  close(): void {
    const last = this.#files.at(-1);
    try {
      last?.open?.closeSync();
      for (const each of this.#files) {
        if (each.delivered.size === 0 || !existsSync(each.path)) continue;
        const { texts } = decodeRecords(readFileSync(each.path));
        this.#keepRest({ spoolFile: Object.assign(each, { open: null }), texts, first: 0 });
      }
      if (last?.size === 0) rmSync(last.path, { force: true });
    } catch (error) {
      this.#warn(error); // the folders stay for the next recorder
    }
    const held = this.#files.filter(({ size }) => size > 0);
    const folders = new Set(held.map(({ path }) => dirname(path)));
    if (this.#own !== null && !folders.has(this.#own)) this.#folders.remove(this.#own);
    for (const folder of folders) this.#folders.release(folder);
  }

  #writable(): [SpoolFile, OpenSpoolFile] {
    if (this.#own !== null && !this.#folders.isStillOurs(this.#own)) this.#lose(this.#own);
    const last = this.#files.at(-1);
    if (last?.open && last.size < this.#fileBytesMax) return [last, last.open];
    this.#seal();
    this.#own ??= this.#folders.make();
    this.#fileNumber += 1;
    const path = join(this.#own, `${String(this.#fileNumber).padStart(10, '0')}.log`);
    const open = new OpenSpoolFile(path);
    const spoolFile = { path, open, size: 0, events: 0, ...unread() };
    this.#files.push(spoolFile);
    return [spoolFile, open];
  }

  #seal(): void {
    const last = this.#files.at(-1);
    const closed = last?.open?.close().catch(this.#options.onDamaged);
    if (last) last.open = null;
    this.#sealing = Promise.all([this.#sealing, closed]).then(() => {});
  }

  /** Another process took the folder as abandoned, and now delivers its events. */
  #lose(folder: string): void {
    this.#seal();
    const lost = this.#files.filter(({ path }) => dirname(path) === folder);
    for (const spoolFile of lost) this.#drop(spoolFile);
    this.#own = null;
  }

  /** Reads on; null if only waiting events are left to read. */
  #load(waiting: ReadonlySet<string>): Loaded | null {
    for (;;) {
      const spoolFile = this.#files.find((each) => isToRead(each, waiting));
      if (spoolFile === undefined) return null;
      try {
        this.#loaded = this.#read(spoolFile);
        return this.#loaded;
      } catch (error) {
        if (isPassing(error)) return null;
        // Taken over meanwhile, or unreadable: it must not block the rest.
        this.#damaged(spoolFile, errorOf(error).message);
        if (spoolFile.open) return null; // it is tried again with the next event
        this.#drop(spoolFile);
      }
    }
  }

  #read(spoolFile: SpoolFile): Loaded {
    const { open, path, readTo, size } = spoolFile;
    const bytes = open ? open.read(readTo) : readFileSync(path).subarray(readTo);
    spoolFile.readTo += bytes.length;
    // The actual size, even if the file was truncated: nothing more will come.
    spoolFile.size = spoolFile.readTo;
    const { texts, damagedBytes } = decodeRecords(bytes);
    const lost = damagedBytes + Math.max(0, size - spoolFile.size);
    if (lost > 0) this.#damaged(spoolFile, `${lost} bytes are gone or not a complete record`);
    const first = spoolFile.records;
    spoolFile.records += texts.length;
    // Corrects the count of lines at the takeover: damaged lines are not events.
    spoolFile.events = spoolFile.records - spoolFile.delivered.size;
    return { spoolFile, texts, first, at: 0 };
  }

  #damaged({ path }: SpoolFile, what: string): void {
    this.#options.onDamaged(new Error(`the spool's file ${path} is damaged: ${what}`));
  }

  /** Everything read is delivered, or waits. */
  #pass(loaded: Loaded): void {
    const { spoolFile } = loaded;
    this.#loaded = null;
    if (spoolFile.readTo < spoolFile.size) return;
    if (spoolFile.events > 0) this.#keepRest(loaded);
    else if (spoolFile.open === null) this.#finish(spoolFile);
    else {
      spoolFile.open.empty();
      Object.assign(spoolFile, { size: 0, ...unread() });
    }
  }

  /** Everything in it is delivered. */
  #finish(spoolFile: SpoolFile): void {
    this.#drop(spoolFile);
    try {
      rmSync(spoolFile.path, { force: true });
    } catch (error) {
      this.#warn(error); // sent again later, which records nothing twice
    }
    const folder = dirname(spoolFile.path);
    const isUsed = folder === this.#own || this.#files.some(({ path }) => dirname(path) === folder);
    if (!isUsed) this.#folders.remove(folder);
  }

  /**
   * Frees the disk space of delivered events, if the spool file was read completely and is no
   * longer written.
   */
  #keepRest({ spoolFile, texts, first }: Omit<Loaded, 'at'>): void {
    const { delivered } = spoolFile;
    if (first > 0 || spoolFile.open) return;
    const rest = texts.filter((_, index) => !delivered.has(index));
    spoolFile.tenants = new Set(rest.map(tenantOf));
    if (delivered.size === 0) return;
    try {
      const size = rewriteSpoolFile(spoolFile.path, rest);
      Object.assign(spoolFile, { size, readTo: size, records: spoolFile.events });
      delivered.clear();
    } catch (error) {
      // The file stays unchanged: delivered events are sent again if the process ends first.
      this.#warn(error);
    }
  }

  #warn(cause: unknown): void {
    this.#options.onDamaged(errorOf(cause));
  }

  #drop(spoolFile: SpoolFile): void {
    const at = this.#files.indexOf(spoolFile);
    if (at === -1) return;
    this.#files.splice(at, 1);
    if (this.#loaded?.spoolFile === spoolFile) this.#loaded = null;
  }
}

/** The spool files of a taken-over folder, in the order in which they were written. */
function spoolFilesIn(folder: string): SpoolFile[] {
  const all = readdirSync(folder).sort();
  // Left by a crash during a rewrite.
  const unfinished = all.filter((name) => /^\d{10}\.log\.new$/.test(name));
  for (const name of unfinished) rmSync(join(folder, name), { force: true });
  const paths = all.filter((name) => /^\d{10}\.log$/.test(name)).map((name) => join(folder, name));
  return paths.map((path) => {
    return { path, open: null, size: statSync(path).size, events: linesIn(path), ...unread() };
  });
}

/** Whether it may hold unread events of a tenant that does not wait. */
function isToRead({ readTo, size, tenants }: SpoolFile, waiting: ReadonlySet<string>): boolean {
  if (readTo === size) return false;
  return tenants === null || [...tenants].some((tenant) => !waiting.has(tenant));
}

/** A temporary error: this process cannot open or read a file at the moment. */
function isPassing(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(code);
}

/** Indexes of the next events; moves `at` over leading events that are delivered or wait. */
function nextOf(
  loaded: Loaded,
  eventsMax: number,
  bytesMax: number,
  waiting: ReadonlySet<string>,
): number[] {
  const { spoolFile, texts, first } = loaded;
  const indexes: number[] = [];
  let bytes = 0;
  for (let index = loaded.at; index < texts.length && indexes.length < eventsMax; index += 1) {
    const text = texts[index] ?? '';
    if (spoolFile.delivered.has(first + index)) continue;
    if (waiting.size > 0 && waiting.has(tenantOf(text))) continue;
    bytes += Buffer.byteLength(text);
    if (indexes.length > 0 && bytes > bytesMax) break;
    indexes.push(index);
  }
  return indexes;
}

/** The number of events, before damaged lines are known: each record is a line. */
function linesIn(path: string): number {
  const bytes = readFileSync(path);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}
