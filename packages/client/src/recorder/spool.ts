import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { decodeRecords, recordOverhead } from './segment.ts';
import { SegmentFile } from './segment-file.ts';
import { SpoolFolders } from './spool-folders.ts';

export interface SpoolOptions {
  root: string;
  /** All segments together; more is refused as a full disk would. */
  bytesMax: number;
  /** A file that holds something else than records, or cannot be read; the rest of it is delivered. */
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
}

// What is sent once more after a crash, and what is read into memory at once.
const segmentBytesMax = 4 * 2 ** 20;

/**
 * Events on disk, first in, first out. A segment goes when all of it is delivered; where a crash comes
 * first, its events are sent again under their ids, which records none of them twice.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #folders: SpoolFolders;
  readonly #sealed: Segment[] = [];
  #active: { segment: Segment; file: SegmentFile } | null = null;
  #own: string | null = null;
  #segmentNumber = 0;
  /** What was read and not acknowledged, and where it came from. */
  #loaded: { segment: Segment; texts: string[]; at: number } | null = null;
  /** Ends when every sealed segment is on the disk. */
  #sealing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #events = 0;
  #appended = 0;
  #settled = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#folders = new SpoolFolders(options.root);
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

  /** The first events that are not settled; fewer than there are, none when there are none. */
  peek(eventsMax: number, bytesMax: number): string[] {
    while (this.#loaded === null || this.#loaded.at === this.#loaded.texts.length) {
      if (this.#loaded !== null) this.#finish(this.#loaded.segment);
      if (!this.#load()) return [];
    }
    const { texts, at } = this.#loaded;
    let end = at;
    let bytes = 0;
    while (end < texts.length && end - at < eventsMax) {
      bytes += Buffer.byteLength(texts[end] ?? '');
      if (end > at && bytes > bytesMax) break;
      end += 1;
    }
    return texts.slice(at, end);
  }

  /** The first `count` events of the last `peek` are settled. */
  settle(count: number): void {
    if (this.#loaded === null) return;
    this.#loaded.at += count;
    this.#loaded.segment.events -= count;
    this.#events -= count;
    this.#settled += count;
    if (this.#loaded.at === this.#loaded.texts.length) this.#finish(this.#loaded.segment);
  }

  /** Brings what was appended to the disk. */
  async sync(): Promise<void> {
    await this.#sealing;
    await this.#active?.file.sync();
  }

  /** Takes over what other processes left behind. Returns whether there was anything. */
  takeOver(nowMs: number): boolean {
    this.#folders.touch();
    const folders = this.#folders.takeOver(nowMs);
    for (const folder of folders) {
      const segments = segmentsIn(folder);
      this.#sealed.push(...segments);
      for (const { size, events } of segments) {
        this.#bytes += size;
        this.#events += events;
        this.#appended += events;
      }
      if (segments.length === 0) this.#folders.remove(folder);
    }
    return folders.length > 0;
  }

  /** Leaves what is not delivered to the next recorder on the same folder. */
  close(): void {
    this.#active?.file.closeSync();
    if (this.#active?.segment.size === 0) rmSync(this.#active.segment.path, { force: true });
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
    if (this.#active !== null && this.#active.segment.size >= segmentBytesMax) this.#seal();
    if (this.#active !== null) return this.#active;
    this.#own ??= this.#folders.make();
    this.#segmentNumber += 1;
    const path = join(this.#own, `${String(this.#segmentNumber).padStart(10, '0')}.log`);
    const file = new SegmentFile(path);
    this.#active = { file, segment: { path, size: 0, events: 0, readTo: 0 } };
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

  /** Reads on; false when there is nothing to read. */
  #load(): boolean {
    const segment = this.#sealed[0] ?? this.#active?.segment;
    if (segment === undefined || segment.readTo >= segment.size) return false;
    try {
      const bytes =
        this.#active?.segment === segment
          ? this.#active.file.read(segment.readTo)
          : readFileSync(segment.path).subarray(segment.readTo);
      segment.readTo += bytes.length;
      segment.size = Math.max(segment.readTo, segment.size);
      const { texts, damagedBytes } = decodeRecords(bytes);
      if (damagedBytes > 0) this.#damaged(segment, `${damagedBytes} bytes are no whole record`);
      this.#recount(segment, texts.length);
      this.#loaded = { segment, texts, at: 0 };
    } catch (error) {
      // Taken over meanwhile, or unreadable; what cannot be read must not hold up the rest.
      this.#damaged(segment, error instanceof Error ? error.message : String(error));
      this.#drop(segment);
    }
    return true;
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

  /** Everything that was read of it is settled. */
  #finish(segment: Segment): void {
    this.#loaded = null;
    if (segment.readTo < segment.size) return;
    if (this.#active?.segment === segment) {
      this.#empty(this.#active);
      return;
    }
    this.#drop(segment);
    rmSync(segment.path, { force: true });
    const folder = dirname(segment.path);
    const isUsed =
      folder === this.#own || this.#sealed.some(({ path }) => dirname(path) === folder);
    if (!isUsed) this.#folders.remove(folder);
  }

  #empty({ segment, file }: { segment: Segment; file: SegmentFile }): void {
    file.empty();
    this.#bytes -= segment.size;
    segment.size = 0;
    segment.readTo = 0;
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
  const names = readdirSync(folder).filter((name) => /^\d{10}\.log$/.test(name));
  return names.sort().map((name) => {
    const path = join(folder, name);
    return { path, size: statSync(path).size, events: linesIn(path), readTo: 0 };
  });
}

/** A record is a line, so this is how many events there are, but for damaged ones. */
function linesIn(path: string): number {
  const bytes = readFileSync(path);
  let lines = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) lines += 1;
  return lines;
}
