import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { FormatError } from '@indelible/protocol';
import { nullIfMissing } from '../postgres/embedded/error-code.ts';

/**
 * Files of an untrusted folder: only regular files, not through links. So nothing outside is read,
 * and a pipe or device cannot block.
 */
export class InsideFolder {
  readonly #path: string;
  /** Folders that were checked not to be links. */
  readonly #folders = new Set<string>(['.']);

  constructor(path: string) {
    this.#path = path;
  }

  /** Whether a file of any type has this name. */
  has(name: string): boolean {
    return lstatSync(join(this.#path, name), { throwIfNoEntry: false }) !== undefined;
  }

  /**
   * Opens a file below the folder for reading; null if absent. FormatError unless it is a regular
   * file of at most `bytesMax` bytes.
   */
  open(name: string, bytesMax = Number.POSITIVE_INFINITY): number | null {
    const fd = this.#opened(name);
    if (fd === null) return null;
    const stats = fstatSync(fd);
    if (stats.isFile() && stats.size <= bytesMax) return fd;
    closeSync(fd);
    throw new FormatError(stats.isFile() ? `${name} is too long` : `${name} is not a regular file`);
  }

  /** The bytes of a file, or null if absent. Throws like `open`. */
  read(name: string, bytesMax: number): Buffer | null {
    const fd = this.open(name, bytesMax);
    if (fd === null) return null;
    try {
      return readFileSync(fd);
    } finally {
      closeSync(fd);
    }
  }

  #opened(name: string): number | null {
    try {
      this.#requireFolder(dirname(name));
      const path = join(this.#path, name);
      // Opening a pipe would block, and opening some devices has an effect.
      if (!lstatSync(path).isFile()) throw new FormatError(`${name} is not a regular file`);
      return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === null) throw error;
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG') return null;
      throw new FormatError(`${name} cannot be read (${code})`);
    }
  }

  #requireFolder(name: string): void {
    if (this.#folders.has(name)) return;
    this.#requireFolder(dirname(name));
    if (!lstatSync(join(this.#path, name)).isDirectory()) {
      throw new FormatError(`${name} is not a folder`);
    }
    this.#folders.add(name);
  }
}

/**
 * The names of all files below a folder, none if it does not exist. Does not follow links; the
 * synchronous `readdir` would, endlessly in a cycle.
 */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    nullIfMissing,
  );
  return (entries ?? [])
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}
