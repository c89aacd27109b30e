import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tenantOf } from '../delivery/event-text.ts';
import { OpenSpoolFile, rewriteSpoolFile } from './spool-file.ts';
import { SpoolFolders } from './spool-folders.ts';
import { decodeRecords, recordOverhead } from './spool-records.ts';

export interface SpoolOptions {
  root: string;
  /** All spool files together; more is refused as a full disk would. */
  bytesMax: number;
  /**
   * A file that holds something else than records, or cannot be read; the rest of it is delivered.
   */
  onDamaged: (error: Error) => void;
}

/** One file of events, in the order in which they were recorded. */
interface SpoolFile {
  path: string;
  size: number;
  /** Events in it that are not delivered. */
  events: number;
  /** Bytes from here on are not read yet. */
  readTo: number;
  /** Records before that place. */
  records: number;
  /** Numbers of records that are delivered, while one before them waits. */
  delivered: Set<number>;
  /** Whose events are left in it at most, once it was read whole and nobody writes to it. */
  tenants: ReadonlySet<string> | null;
}

/** Records of a spool file: `first` is the number of the first one, `at` the next to look at. */
interface Loaded {
  spoolFile: SpoolFile;
  texts: string[];
  first: number;
  at: number;
}

const spoolFileAt = (path: string, size = 0, events = 0): SpoolFile => {
  return { path, size, events, readTo: 0, records: 0, delivered: new Set(), tenants: null };
};

// What is sent once more after a crash, and what is read into memory at once.
const fileBytesMax = 4 * 2 ** 20;
// The spool file that is written to keeps what is delivered: little beside what the disk may hold.
const filesMin = 16;

/**
 * Events on disk, first in, first out, but for tenants that wait: those are passed
 * over until `rewind`. A spool file goes when all of it is delivered; where a crash
 * comes first, its events are sent again under their ids, which records none of
 * them twice. One that is left with events that wait is written anew with these
 * alone: what a single tenant cannot deliver must not fill the disk for all.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #folders: SpoolFolders;
  readonly #fileBytesMax: number;
  readonly #sealed: SpoolFile[] = [];
  #active: { spoolFile: SpoolFile; file: OpenSpoolFile } | null = null;
  #own: string | null = null;
  #fileNumber = 0;
  #loaded: Loaded | null = null;
  /** Places, in what is loaded, of the events that the last `peek` gave. */
  #peeked: number[] = [];
  /** Ends when every sealed spool file is on the disk. */
  #sealing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #events = 0;
  #appended = 0;
  #settled = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#folders = new SpoolFolders(options.root);
    this.#fileBytesMax = Math.min(fileBytesMax, options.bytesMax / filesMin);
  }

  get isEmpty(): boolean {
    return this.#sealed.length === 0 && (this.#active?.spoolFile.size ?? 0) === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get events(): number {
    return this.#events;
  }

  /** How many events ever came in, and how many of those have gone; both only grow. */
  get progress(): { appended: number; settled: number } {
    return { appended: this.#appended, settled: this.#settled };
  }

  /** Appends all of them or none. Throws what the file system says, ENOSPC also at `bytesMax`. */
  append(texts: readonly string[]): void {
    const size = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + recordOverhead, 0);
    if (this.#bytes + size > this.#options.bytesMax) {
      throw Object.assign(new Error('the spool is full'), { code: 'ENOSPC' });
    }
    const { spoolFile, file } = this.#writable();
    file.append(texts);
    spoolFile.size += size;
    spoolFile.events += texts.length;
    this.#bytes += size;
    this.#events += texts.length;
    this.#appended += texts.length;
  }

  /**
   * The next events that are not delivered, of tenants that do not wait; fewer than there are. None
   * when one spool file more has only such as wait, and null at the end.
   */
  peek(eventsMax: number, bytesMax: number, waiting: ReadonlySet<string>): string[] | null {
    const loaded = this.#loaded ?? this.#load(waiting);
    if (loaded === null) return null;
    this.#peeked = nextOf(loaded, eventsMax, bytesMax, waiting);
    if (this.#peeked.length === 0) this.#pass(loaded);
    return this.#peeked.map((place) => loaded.texts[place] ?? '');
  }

  /** Says of each event of the last `peek` whether it is delivered. */
  settle(isDelivered: readonly boolean[]): void {
    const loaded = this.#loaded;
    if (loaded === null) return;
    const { spoolFile, first, texts } = loaded;
    const places = this.#peeked.filter((_, index) => isDelivered[index]);
    for (const place of places) spoolFile.delivered.add(first + place);
    spoolFile.events -= places.length;
    this.#events -= places.length;
    this.#settled += places.length;
    loaded.at = (this.#peeked.at(-1) ?? loaded.at - 1) + 1;
    this.#peeked = [];
    if (loaded.at === texts.length) this.#pass(loaded);
  }

  /** Begins again with the first event that is not delivered. */
  rewind(): void {
    this.#loaded = null;
    for (const spoolFile of this.#files()) [spoolFile.readTo, spoolFile.records] = [0, 0];
  }

  /** Brings what was appended to the disk. */
  async sync(): Promise<void> {
    await this.#sealing;
    await this.#active?.file.sync();
  }

  /** Takes over what other processes left behind. */
  takeOver(nowMs: number): void {
    this.#folders.touch();
    const folders = this.#folders.takeOver(nowMs);
    for (const folder of folders) {
      try {
        this.#add(folder);
      } catch (error) {
        // It must not hold up those behind it; whoever looks next tries again.
        this.#folders.release(folder);
        this.#warn(error);
      }
    }
  }

  #add(folder: string): void {
    const spoolFiles = spoolFilesIn(folder);
    this.#sealed.push(...spoolFiles);
    for (const { size, events } of spoolFiles) {
      this.#bytes += size;
      this.#events += events;
      this.#appended += events;
    }
    if (spoolFiles.length === 0) this.#folders.remove(folder);
  }

  /** Leaves what is not delivered to the next recorder on the same folder. */
  close(): void {
    try {
      this.#active?.file.closeSync();
      if (this.#active?.spoolFile.size === 0) rmSync(this.#active.spoolFile.path, { force: true });
    } catch (error) {
      this.#warn(error); // the folders are still left to whoever comes next
    }
    const held = [
      ...this.#sealed,
      ...(this.#active?.spoolFile.size ? [this.#active.spoolFile] : []),
    ];
    const folders = new Set(held.map(({ path }) => dirname(path)));
    if (this.#own !== null && !folders.has(this.#own)) this.#folders.remove(this.#own);
    for (const folder of folders) this.#folders.release(folder);
    this.#active = null;
    this.#sealed.length = 0;
    this.#loaded = null;
  }

  #writable(): { spoolFile: SpoolFile; file: OpenSpoolFile } {
    if (this.#own !== null && !this.#folders.isStillOurs(this.#own)) this.#lose(this.#own);
    if (this.#active !== null && this.#active.spoolFile.size >= this.#fileBytesMax) this.#seal();
    if (this.#active !== null) return this.#active;
    this.#own ??= this.#folders.make();
    this.#fileNumber += 1;
    const path = join(this.#own, `${String(this.#fileNumber).padStart(10, '0')}.log`);
    const file = new OpenSpoolFile(path);
    this.#active = { file, spoolFile: spoolFileAt(path) };
    return this.#active;
  }

  #seal(): void {
    if (this.#active === null) return;
    const { spoolFile, file } = this.#active;
    this.#active = null;
    this.#sealed.push(spoolFile);
    const closed = file.close().catch(this.#options.onDamaged);
    this.#sealing = Promise.all([this.#sealing, closed]).then(() => {});
  }

  /** Another process took the folder for abandoned, and now delivers what is in it. */
  #lose(folder: string): void {
    if (this.#active !== null) this.#seal();
    const lost = this.#sealed.filter(({ path }) => dirname(path) === folder);
    for (const spoolFile of lost) this.#drop(spoolFile);
    this.#own = null;
  }

  #files(): SpoolFile[] {
    return this.#active === null ? this.#sealed : [...this.#sealed, this.#active.spoolFile];
  }

  /** Reads on; null when there is nothing more to read but what waits. */
  #load(waiting: ReadonlySet<string>): Loaded | null {
    for (;;) {
      const spoolFile = this.#files().find((each) => isToRead(each, waiting));
      if (spoolFile === undefined) return null;
      try {
        this.#loaded = this.#read(spoolFile);
        return this.#loaded;
      } catch (error) {
        if (isPassing(error)) return null;
        // Taken over meanwhile, or unreadable; what cannot be read must not hold up the rest.
        this.#damaged(spoolFile, error instanceof Error ? error.message : String(error));
        if (this.#active?.spoolFile === spoolFile) return null; // it is tried again with the next event
        this.#drop(spoolFile);
      }
    }
  }

  #read(spoolFile: SpoolFile): Loaded {
    const bytes =
      this.#active?.spoolFile === spoolFile
        ? this.#active.file.read(spoolFile.readTo)
        : readFileSync(spoolFile.path).subarray(spoolFile.readTo);
    spoolFile.readTo += bytes.length;
    // What the file has, even if somebody cut it: there is no more to wait for.
    this.#bytes += spoolFile.readTo - spoolFile.size;
    spoolFile.size = spoolFile.readTo;
    const { texts, damagedBytes } = decodeRecords(bytes);
    if (damagedBytes > 0)
      this.#damaged(spoolFile, `${damagedBytes} bytes are not a complete record`);
    const first = spoolFile.records;
    spoolFile.records += texts.length;
    this.#recount(spoolFile, spoolFile.records - spoolFile.delivered.size);
    return { spoolFile, texts, first, at: 0 };
  }

  /** Lines were counted when it was taken over; those that are damaged are no events. */
  #recount(spoolFile: SpoolFile, events: number): void {
    const fewer = spoolFile.events - events;
    spoolFile.events = events;
    this.#events -= fewer;
    this.#settled += fewer;
  }

  #damaged({ path }: SpoolFile, what: string): void {
    this.#options.onDamaged(new Error(`the spool's file ${path} is damaged: ${what}`));
  }

  /** Everything that was read is delivered, or waits. */
  #pass(loaded: Loaded): void {
    const { spoolFile } = loaded;
    this.#loaded = null;
    if (spoolFile.readTo < spoolFile.size) return;
    if (spoolFile.events > 0) this.#keepRest(loaded);
    else if (this.#active?.spoolFile === spoolFile) this.#empty(this.#active);
    else this.#finish(spoolFile);
  }

  /** Everything in it is delivered. */
  #finish(spoolFile: SpoolFile): void {
    this.#drop(spoolFile);
    try {
      rmSync(spoolFile.path, { force: true });
    } catch (error) {
      this.#warn(error); // whoever finds it sends it again, which records nothing twice
    }
    const folder = dirname(spoolFile.path);
    const isUsed =
      folder === this.#own || this.#sealed.some(({ path }) => dirname(path) === folder);
    if (!isUsed) this.#folders.remove(folder);
  }

  /**
   * Frees the disk of what is delivered, as far as the
   * spool file is read whole and nobody writes to it.
   */
  #keepRest({ spoolFile, texts, first }: Loaded): void {
    const { delivered } = spoolFile;
    if (first > 0 || this.#active?.spoolFile === spoolFile) return;
    const rest = texts.filter((_, place) => !delivered.has(place));
    spoolFile.tenants = new Set(rest.map(tenantOf));
    if (delivered.size === 0) return;
    try {
      const size = rewriteSpoolFile(spoolFile.path, rest);
      this.#bytes -= spoolFile.size - size;
      Object.assign(spoolFile, { size, readTo: size, records: spoolFile.events });
      delivered.clear();
    } catch (error) {
      // It stays as it was: what is delivered is sent
      // again should the process end before the rest is.
      this.#warn(error);
    }
  }

  #warn(cause: unknown): void {
    this.#options.onDamaged(cause instanceof Error ? cause : new Error(String(cause)));
  }

  #empty({ spoolFile, file }: { spoolFile: SpoolFile; file: OpenSpoolFile }): void {
    file.empty();
    this.#bytes -= spoolFile.size;
    Object.assign(spoolFile, spoolFileAt(spoolFile.path));
  }

  #drop(spoolFile: SpoolFile): void {
    const at = this.#sealed.indexOf(spoolFile);
    if (at === -1) return;
    this.#sealed.splice(at, 1);
    this.#bytes -= spoolFile.size;
    this.#events -= spoolFile.events;
    this.#settled += spoolFile.events;
    if (this.#loaded?.spoolFile === spoolFile) this.#loaded = null;
  }
}

/** The spool files of a folder that was taken over, in the order in which they were written. */
function spoolFilesIn(folder: string): SpoolFile[] {
  const all = readdirSync(folder).sort();
  // A crash came while these were written.
  const unfinished = all.filter((name) => /^\d{10}\.log\.new$/.test(name));
  for (const name of unfinished) rmSync(join(folder, name), { force: true });
  const paths = all.filter((name) => /^\d{10}\.log$/.test(name)).map((name) => join(folder, name));
  const spoolFiles = paths.map((path) => spoolFileAt(path, statSync(path).size, linesIn(path)));
  // There is nothing to read in it, so nothing else would ever remove it.
  for (const { path, size } of spoolFiles) if (size === 0) rmSync(path, { force: true });
  return spoolFiles.filter(({ size }) => size > 0);
}

/** Whether there may be anything in it, not read yet, of a tenant that does not wait. */
function isToRead({ readTo, size, tenants }: SpoolFile, waiting: ReadonlySet<string>): boolean {
  if (readTo === size) return false;
  return tenants === null || [...tenants].some((tenant) => !waiting.has(tenant));
}

/** The file is as good as before: this process can open or read none just now. */
function isPassing(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'].includes(code);
}

/** Places of the next events; `at` moves over those before them that are delivered or wait. */
function nextOf(
  loaded: Loaded,
  eventsMax: number,
  bytesMax: number,
  waiting: ReadonlySet<string>,
): number[] {
  const { spoolFile, texts, first } = loaded;
  const places: number[] = [];
  let bytes = 0;
  for (let place = loaded.at; place < texts.length && places.length < eventsMax; place += 1) {
    const text = texts[place] ?? '';
    if (spoolFile.delivered.has(first + place)) continue;
    if (waiting.size > 0 && waiting.has(tenantOf(text))) continue;
    bytes += Buffer.byteLength(text);
    if (places.length > 0 && bytes > bytesMax) break;
    places.push(place);
  }
  return places;
}

/** A record is a line, so this is how many events there are, but for damaged ones. */
function linesIn(path: string): number {
  const bytes = readFileSync(path);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}
