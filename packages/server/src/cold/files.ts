import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../http/index.ts';
import type { ObjectStore } from '../objects/index.ts';
import type { ColdFile } from './store.ts';

/** What was erased in the archive must not stay in a cache. */
const keptMs = 86_400_000;

/**
 * Local copies of objects by their hash, so that a copy is never out of date. Processes may share
 * the folder. Above `bytesMax` the copies go that were not used for the longest time.
 */
export class LocalCopies {
  readonly #objects: ObjectStore;
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #arriving = new Map<string, Promise<void>>();
  #number = 0;

  constructor(objects: ObjectStore, folder: string, bytesMax: number) {
    this.#objects = objects;
    this.#folder = folder;
    this.#bytesMax = bytesMax;
  }

  /** The path of a copy. Throws `unavailable` while the object store does not answer. */
  async pathOf(file: ColdFile): Promise<string> {
    const path = join(this.#folder, `${file.sha256}.parquet`);
    if (await isThere(path)) return path;
    const arriving =
      this.#arriving.get(path) ??
      this.#fetch(file, path).finally(() => this.#arriving.delete(path));
    this.#arriving.set(path, arriving);
    await arriving;
    return path;
  }

  async #fetch(file: ColdFile, path: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.trim(file.bytes);
    this.#number += 1;
    const draft = `${path}.${process.pid}-${this.#number}`;
    const digest = createHash('sha256');
    try {
      const found = await this.#objects.getStream(file.name);
      if (found === null) throw new Error(`${file.name} is not in the object store`);
      found.body.on('data', (chunk) => digest.update(chunk));
      await pipeline(found.body, createWriteStream(draft, { mode: 0o600 }));
      if (digest.digest('hex') !== file.sha256)
        throw new Error(`${file.name} is not the file that was verified`);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw unreadable(error);
    }
  }

  /** Removes copies that are old, or too many for `coming` bytes more. */
  async trim(coming = 0): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    const copies = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name);
        const found = await stat(path).catch(() => null);
        return {
          path,
          bytes: found?.size ?? 0,
          made: found?.birthtimeMs ?? 0,
          used: found?.mtimeMs ?? 0,
        };
      }),
    );
    copies.sort((a, b) => b.used - a.used);
    let bytes = coming;
    for (const copy of copies) {
      bytes += copy.bytes;
      const isOld = copy.made < Date.now() - keptMs;
      if (isOld || bytes > this.#bytesMax) await rm(copy.path, { force: true });
    }
  }
}

/** Also notes that it is used. */
async function isThere(path: string): Promise<boolean> {
  const now = new Date();
  return utimes(path, now, now).then(
    () => true,
    () => false,
  );
}

function unreadable(error: unknown): AppError {
  const sentence =
    'older events are in the object store, which cannot be read at the moment; ' +
    'retry later, or ask for newer events only';
  const why = error instanceof Error ? error.message : String(error);
  return new AppError('unavailable', sentence, {
    headers: { 'retry-after': '5' },
    finding: `the archive cannot be read: ${why}`,
  });
}
