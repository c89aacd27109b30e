import type { Hash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import { FormatError, parseTimestamp, type RemovalRecord, readOrNull } from '@indelible/protocol';
import { InsideFolder } from '@indelible/server/inside-folder';
import { UsageError } from '../io.ts';
import { type BodyChunk, bodyLineBytesMax } from '../verify/log-bodies.ts';
import type { TileSource } from '../verify/log-source.ts';
import { type KeyWindow, keyWindowsOf } from '../verify/trusted-checkpoint.ts';
import { openDigest } from './checksums.ts';
import { bundleFiles } from './manifest.ts';

/** Limits for hostile bundles: reading one must not fill the memory. */
const bytesMax = {
  manifest: 2 ** 20,
  note: 64 * 1024,
  json: 16 * 2 ** 20,
  tile: 64 * 1024,
  sums: 2 ** 30,
  sumLine: 1_024,
};

/** A removal in the bundle's index; the log's own record must say the same. */
type StatedRemoval = Pick<RemovalRecord, 'sequence' | 'cutoffMs' | 'size'>;

/** Reads the files of a bundle. Never reads outside the folder. */
export class BundleFiles implements TileSource {
  readonly folder: string;
  readonly tilesAtOnce = 1;
  readonly lowestKeptLevel = 0;
  readonly #inside: InsideFolder;

  /** Throws UsageError if the folder is not a bundle. */
  constructor(folder: string) {
    this.folder = folder;
    this.#inside = new InsideFolder(folder);
    if (this.has(bundleFiles.manifest)) return;
    throw new UsageError(`${folder} is not a bundle: it has no ${bundleFiles.manifest}`);
  }

  has(name: string): boolean {
    return this.#inside.has(name);
  }

  /** The manifest's text. FormatError if it cannot be read. */
  manifest(): string {
    return this.#inside.read(bundleFiles.manifest, bytesMax.manifest)?.toString() ?? '';
  }

  /** The signed note, or null if there is none. FormatError if it cannot be read. */
  checkpoint(): Buffer | null {
    return this.#inside.read(bundleFiles.checkpoint, bytesMax.note);
  }

  /** An unreadable tile counts as absent here: `check-files` has reported it. */
  async tile(path: string): Promise<Uint8Array | null> {
    return readOrNull(() => this.#inside.read(path, bytesMax.tile));
  }

  /**
   * SHA-256 of a file in hexadecimal; null if absent. '' for the events, which are hashed when they
   * are read. FormatError if it is not a regular file, or too long.
   */
  digest(name: string): string | null {
    const { events, sums } = bundleFiles;
    const limit = name === sums ? bytesMax.sums : bytesMax.json;
    const fd = this.#inside.open(name, name === events ? Number.POSITIVE_INFINITY : limit);
    if (fd === null) return null;
    if (name !== events) return openDigest(fd);
    closeSync(fd);
    return '';
  }

  /**
   * Lines of SHA256SUMS; none if it cannot be read: comparing its own checksum reports that.
   * Stops at a line that is far too long, and yields it cut.
   */
  *sums(): Generator<string, void, undefined> {
    const fd = readOrNull(() => this.#inside.open(bundleFiles.sums, bytesMax.sums));
    if (fd === null) return;
    for (const block of lineBlocks(fd, bytesMax.sumLine)) {
      const lines = block.toString('latin1').split('\n');
      if (lines.at(-1) === '') lines.pop();
      for (const line of lines) {
        yield line.slice(0, bytesMax.sumLine);
        if (line.length > bytesMax.sumLine) return;
      }
    }
  }

  /** The body lines, hashed while they are read; none if the file cannot be read. */
  async *bodies(digest: Hash): AsyncGenerator<BodyChunk, void, undefined> {
    const fd = readOrNull(() => this.#inside.open(bundleFiles.events));
    if (fd === null) return;
    for (const bytes of lineBlocks(fd, bodyLineBytesMax)) {
      digest.update(bytes);
      yield { bytes, cutoffMs: null };
    }
  }

  /** The vkey lines in the bundle. FormatError if the file has another form. */
  vkeys(): { vkeys: string[]; windows: KeyWindow[] } {
    const { keys } = (this.#json(bundleFiles.keys) ?? {}) as { keys?: unknown };
    if (!Array.isArray(keys)) throw new FormatError(`${bundleFiles.keys} lists no keys`);
    const vkeys = keys.map((key: { vkey?: unknown } | null) => {
      if (typeof key?.vkey === 'string') return key.vkey;
      throw new FormatError(`${bundleFiles.keys} has a key without vkey`);
    });
    return { vkeys, windows: keyWindowsOf(keys) };
  }

  /** FormatError unless the file is `[{sequence, cutoff, size}, …]`. */
  retention(): StatedRemoval[] {
    const json = this.#json(bundleFiles.retention);
    if (!Array.isArray(json)) throw new FormatError(`${bundleFiles.retention} is not a list`);
    return json.map((record: unknown) => {
      const { sequence, cutoff, size } = (record ?? {}) as Record<string, unknown>;
      const cutoffMs = typeof cutoff === 'string' ? parseTimestamp(cutoff) : null;
      const isFine = typeof sequence === 'number' && typeof size === 'number' && cutoffMs !== null;
      if (isFine) return { sequence, cutoffMs, size };
      throw new FormatError(`a record of ${bundleFiles.retention} is {sequence, cutoff, size}`);
    });
  }

  #json(name: string): unknown {
    const bytes = this.#inside.read(name, bytesMax.json);
    if (bytes === null) throw new FormatError(`${name} is missing`);
    try {
      return JSON.parse(bytes.toString());
    } catch {
      throw new FormatError(`${name} is not JSON`);
    }
  }
}

const lineFeed = 0x0a;

/**
 * The bytes of an open file (closed at the end) in blocks that end with a line, except the last.
 * All blocks share one buffer: a block is valid until the next one. A line longer than
 * `lineBytesMax` is cut.
 */
export function* lineBlocks(
  fd: number,
  lineBytesMax: number,
  blockBytes = 1 << 18,
): Generator<Buffer, void, undefined> {
  try {
    let buffer = Buffer.alloc(blockBytes);
    let kept = 0;
    for (;;) {
      const filled = kept + readSync(fd, buffer, { offset: kept });
      if (filled === kept) break;
      const end = buffer.lastIndexOf(lineFeed, filled - 1) + 1;
      const whole = end === 0 && filled >= lineBytesMax ? filled : end;
      if (whole > 0) yield buffer.subarray(0, whole);
      buffer.copyWithin(0, whole, filled);
      kept = filled - whole;
      if (kept === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length);
    }
    if (kept > 0) yield buffer.subarray(0, kept);
  } finally {
    closeSync(fd);
  }
}
