import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tenantOf } from '../delivery/event-text.ts';
import { decodeRecords, recordOverhead } from './segment.ts';
import { rewriteSegment, SegmentFile } from './segment-file.ts';
import { SpoolFolders } from './spool-folders.ts';

export interface SpoolOptions {
  root: string;
  /** All segments together; more is refused as a full disk would. */
  bytesMax: number;
  /**
   * A file that holds something else than records, or cannot be read; the rest of it is delivered.
   */
  onDamaged: (error: Error) => void;
}

/** One file of events, in the order in which they were recorded. */
interface Segment {
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

/**
 * What was read of a segment: `first` is the number
 * of its first record, `at` the next to be looked at.
 */
interface Loaded {
  segment: Segment;
  texts: string[];
  first: number;
  at: number;
}

const segmentAt = (path: string, size = 0, events = 0): Segment => {
  return { path, size, events, readTo: 0, records: 0, delivered: new Set(), tenants: null };
};

// What is sent once more after a crash, and what is read into memory at once.
const segmentBytesMax = 4 * 2 ** 20;
// The segment that is written to keeps what is delivered: little beside what the disk may hold.
const segmentsMin = 16;

/**
 * Events on disk, first in, first out, but for tenants that wait: those are passed
 * over until `rewind`. A segment goes when all of it is delivered; where a crash
 * comes first, its events are sent again under their ids, which records none of
 * them twice. One that is left with events that wait is written anew with these
 * alone: what a single tenant cannot deliver must not fill the disk for all.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #folders: SpoolFolders;
  readonly #segmentBytesMax: number;
  readonly #sealed: Segment[] = [];
  #active: { segment: Segment; file: SegmentFile } | null = null;
  #own: string | null = null;
  #segmentNumber = 0;
  #loaded: Loaded | null = null;
  /** Places, in what is loaded, of the events that the last `peek` gave. */
  #peeked: number[] = [];
  /** Ends when every sealed segment is on the disk. */
  #sealing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #events = 0;
  #appended = 0;
  #settled = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#folders = new SpoolFolders(options.root);
    this.#segmentBytesMax = Math.min(segmentBytesMax, options.bytesMax / segmentsMin);
  }

  get isEmpty(): boolean {
    return this.#sealed.length === 0 && (this.#active?.segment.size ?? 0) === 0;
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
    const { segment, file } = this.#writable();
    file.append(texts);
    segment.size += size;
    segment.events += texts.length;
    this.#bytes += size;
    this.#events += texts.length;
    this.#appended += texts.length;
  }

  /**
   * The next events that are not delivered, of tenants that do not wait; fewer than there are. None
   * when one segment more has only such as wait, and null at the end.
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
    const { segment, first, texts } = loaded;
    const places = this.#peeked.filter((_, index) => isDelivered[index]);
    for (const place of places) segment.delivered.add(first + place);
    segment.events -= places.length;
    this.#events -= places.length;
    this.#settled += places.length;
    loaded.at = (this.#peeked.at(-1) ?? loaded.at - 1) + 1;
    this.#peeked = [];
    if (loaded.at === texts.length) this.#pass(loaded);
  }

  /** Begins again with the first event that is not delivered. */
  rewind(): void {
    this.#loaded = null;
    for (const segment of this.#segments()) [segment.readTo, segment.records] = [0, 0];
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
    const segments = segmentsIn(folder);
    this.#sealed.push(...segments);
    for (const { size, events } of segments) {
      this.#bytes += size;
      this.#events += events;
      this.#appended += events;
    }
    if (segments.length === 0) this.#folders.remove(folder);
  }

  /** Leaves what is not delivered to the next recorder on the same folder. */
  close(): void {
    try {
      this.#active?.file.closeSync();
      if (this.#active?.segment.size === 0) rmSync(this.#active.segment.path, { force: true });
    } catch (error) {
      this.#warn(error); // the folders are still left to whoever comes next
    }
    const held = [...this.#sealed, ...(this.#active?.segment.size ? [this.#active.segment] : [])];
    const folders = new Set(held.map(({ path }) => dirname(path)));
    if (this.#own !== null && !folders.has(this.#own)) this.#folders.remove(this.#own);
    for (const folder of folders) this.#folders.release(folder);
    this.#active = null;
    this.#sealed.length = 0;
    this.#loaded = null;
  }

  #writable(): { segment: Segment; file: SegmentFile } {
    if (this.#own !== null && !this.#folders.isStillOurs(this.#own)) this.#lose(this.#own);
    if (this.#active !== null && this.#active.segment.size >= this.#segmentBytesMax) this.#seal();
    if (this.#active !== null) return this.#active;
    this.#own ??= this.#folders.make();
    this.#segmentNumber += 1;
    const path = join(this.#own, `${String(this.#segmentNumber).padStart(10, '0')}.log`);
    const file = new SegmentFile(path);
    this.#active = { file, segment: segmentAt(path) };
    return this.#active;
  }

  #seal(): void {
    if (this.#active === null) return;
    const { segment, file } = this.#active;
    this.#active = null;
    this.#sealed.push(segment);
    const closed = file.close().catch(this.#options.onDamaged);
    this.#sealing = Promise.all([this.#sealing, closed]).then(() => {});
  }

  /** Another process took the folder for abandoned, and now delivers what is in it. */
  #lose(folder: string): void {
    if (this.#active !== null) this.#seal();
    const lost = this.#sealed.filter(({ path }) => dirname(path) === folder);
    for (const segment of lost) this.#drop(segment);
    this.#own = null;
  }

  #segments(): Segment[] {
    return this.#active === null ? this.#sealed : [...this.#sealed, this.#active.segment];
  }

  /** Reads on; null when there is nothing more to read but what waits. */
  #load(waiting: ReadonlySet<string>): Loaded | null {
    for (;;) {
      const segment = this.#segments().find((each) => isToRead(each, waiting));
      if (segment === undefined) return null;
      try {
        this.#loaded = this.#read(segment);
        return this.#loaded;
      } catch (error) {
        if (isPassing(error)) return null;
        // Taken over meanwhile, or unreadable; what cannot be read must not hold up the rest.
        this.#damaged(segment, error instanceof Error ? error.message : String(error));
        if (this.#active?.segment === segment) return null; // it is tried again with the next event
        this.#drop(segment);
      }
    }
  }

  #read(segment: Segment): Loaded {
    const bytes =
      this.#active?.segment === segment
        ? this.#active.file.read(segment.readTo)
        : readFileSync(segment.path).subarray(segment.readTo);
    segment.readTo += bytes.length;
    // What the file has, even if somebody cut it: there is no more to wait for.
    this.#bytes += segment.readTo - segment.size;
    segment.size = segment.readTo;
    const { texts, damagedBytes } = decodeRecords(bytes);
    if (damagedBytes > 0) this.#damaged(segment, `${damagedBytes} bytes are not a complete record`);
    const first = segment.records;
    segment.records += texts.length;
    this.#recount(segment, segment.records - segment.delivered.size);
    return { segment, texts, first, at: 0 };
  }

  /** Lines were counted when it was taken over; those that are damaged are no events. */
  #recount(segment: Segment, events: number): void {
    const fewer = segment.events - events;
    segment.events = events;
    this.#events -= fewer;
    this.#settled += fewer;
  }

  #damaged({ path }: Segment, what: string): void {
    this.#options.onDamaged(new Error(`the spool's file ${path} is damaged: ${what}`));
  }

  /** Everything that was read is delivered, or waits. */
  #pass(loaded: Loaded): void {
    const { segment } = loaded;
    this.#loaded = null;
    if (segment.readTo < segment.size) return;
    if (segment.events > 0) this.#keepRest(loaded);
    else if (this.#active?.segment === segment) this.#empty(this.#active);
    else this.#finish(segment);
  }

  /** Everything in it is delivered. */
  #finish(segment: Segment): void {
    this.#drop(segment);
    try {
      rmSync(segment.path, { force: true });
    } catch (error) {
      this.#warn(error); // whoever finds it sends it again, which records nothing twice
    }
    const folder = dirname(segment.path);
    const isUsed =
      folder === this.#own || this.#sealed.some(({ path }) => dirname(path) === folder);
    if (!isUsed) this.#folders.remove(folder);
  }

  /**
   * Frees the disk of what is delivered, as far as the
   * segment is read whole and nobody writes to it.
   */
  #keepRest({ segment, texts, first }: Loaded): void {
    const { delivered } = segment;
    if (first > 0 || this.#active?.segment === segment) return;
    const rest = texts.filter((_, place) => !delivered.has(place));
    segment.tenants = new Set(rest.map(tenantOf));
    if (delivered.size === 0) return;
    try {
      const size = rewriteSegment(segment.path, rest);
      this.#bytes -= segment.size - size;
      Object.assign(segment, { size, readTo: size, records: segment.events });
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

  #empty({ segment, file }: { segment: Segment; file: SegmentFile }): void {
    file.empty();
    this.#bytes -= segment.size;
    Object.assign(segment, segmentAt(segment.path));
  }

  #drop(segment: Segment): void {
    const at = this.#sealed.indexOf(segment);
    if (at === -1) return;
    this.#sealed.splice(at, 1);
    this.#bytes -= segment.size;
    this.#events -= segment.events;
    this.#settled += segment.events;
    if (this.#loaded?.segment === segment) this.#loaded = null;
  }
}

/** The segments of a folder that was taken over, in the order in which they were written. */
function segmentsIn(folder: string): Segment[] {
  const all = readdirSync(folder).sort();
  // A crash came while these were written.
  const unfinished = all.filter((name) => /^\d{10}\.log\.new$/.test(name));
  for (const name of unfinished) rmSync(join(folder, name), { force: true });
  const paths = all.filter((name) => /^\d{10}\.log$/.test(name)).map((name) => join(folder, name));
  const segments = paths.map((path) => segmentAt(path, statSync(path).size, linesIn(path)));
  // There is nothing to read in it, so nothing else would ever remove it.
  for (const { path, size } of segments) if (size === 0) rmSync(path, { force: true });
  return segments.filter(({ size }) => size > 0);
}

/** Whether there may be anything in it, not read yet, of a tenant that does not wait. */
function isToRead({ readTo, size, tenants }: Segment, waiting: ReadonlySet<string>): boolean {
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
  const { segment, texts, first } = loaded;
  const places: number[] = [];
  let bytes = 0;
  for (let place = loaded.at; place < texts.length && places.length < eventsMax; place += 1) {
    const text = texts[place] ?? '';
    if (segment.delivered.has(first + place)) continue;
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
