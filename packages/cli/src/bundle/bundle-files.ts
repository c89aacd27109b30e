import type { Hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError, type RetentionRecord, retentionRecordsOf } from '@indelible/protocol';
import { UsageError } from '../exit-codes.ts';
import { type BodyChunk, bodyLineBytesMax } from '../verify/log-bodies.ts';
import type { TileSource } from '../verify/log-source.ts';
import { lineBlocks } from './line-blocks.ts';
import { bundleFiles } from './manifest.ts';

/** The files of a bundle, for whoever verifies it. Nothing outside the folder is ever read. */
export class BundleFiles implements TileSource {
  readonly folder: string;
  readonly tilesAtOnce = 1;
  readonly lowestKeptLevel = 0;

  /** Throws UsageError when the folder is no bundle at all. */
  constructor(folder: string) {
    this.folder = folder;
    if (existsSync(join(folder, bundleFiles.manifest))) return;
    throw new UsageError(`${folder} is no bundle: it has no ${bundleFiles.manifest}`);
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name));
  }

  /** The bytes of a file, or null where there is none. */
  read(name: string): Buffer | null {
    try {
      return readFileSync(join(this.folder, name));
    } catch (error) {
      if (error instanceof Error && 'code' in error && isAbsence(error.code)) return null;
      throw error;
    }
  }

  async tile(path: string): Promise<Uint8Array | null> {
    return this.read(path);
  }

  /** The body lines, hashed as they are read; nothing when the file is not there. */
  async *bodies(digest: Hash): AsyncGenerator<BodyChunk, void, undefined> {
    if (!this.has(bundleFiles.events)) return;
    const path = join(this.folder, bundleFiles.events);
    for (const bytes of lineBlocks(path, bodyLineBytesMax)) {
      digest.update(bytes);
      yield { bytes, cutoffMs: null };
    }
  }

  /** The vkey lines that come with the bundle. FormatError when the file is not of that form. */
  vkeys(): string[] {
    const { keys } = this.#json(bundleFiles.keys) as { keys?: unknown };
    if (!Array.isArray(keys)) throw new FormatError(`${bundleFiles.keys} lists no keys`);
    return keys.map((key: { vkey?: unknown } | null) => {
      if (typeof key?.vkey === 'string') return key.vkey;
      throw new FormatError(`${bundleFiles.keys} has a key without vkey`);
    });
  }

  /** FormatError when the file is not of that form. */
  retention(): RetentionRecord[] {
    return retentionRecordsOf(this.#json(bundleFiles.retention));
  }

  #json(name: string): unknown {
    const bytes = this.read(name);
    if (bytes === null) throw new FormatError(`${name} is not there`);
    try {
      return JSON.parse(bytes.toString());
    } catch {
      throw new FormatError(`${name} is no JSON`);
    }
  }
}

function isAbsence(code: unknown): boolean {
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
}
