import {
  accessSync,
  constants,
  existsSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { UsageError } from './io.ts';

/* Files that a command keeps for its next run, or reads in pieces. */

/** Throws UsageError unless `path` can be made: it does not exist, and its folder is writable. */
export function requireNew(path: string, kind: 'file' | 'folder'): void {
  requireFolderOf(path);
  if (existsSync(path)) throw new UsageError(`${path} exists already; name another ${kind}`);
}

/** Throws UsageError unless the folder of `path` exists and is writable. */
export function requireFolderOf(path: string): void {
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (statSync(folder).isDirectory()) return;
  } catch {
    // The sentence below fits this error too.
  }
  throw new UsageError(`${folder} is not a writable folder; make it, or name another one`);
}

/** The text of a file; null if there is none. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw error;
  }
}

/**
 * Writes a file for this user only, atomically: under its own name it is always complete. A crash
 * leaves `draft`, which the next run overwrites.
 */
export function writeWhole(
  path: string,
  content: string | Uint8Array,
  draft = `${path}.tmp`,
): void {
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}

/** The first bytes of an open file, in chunks; all of them by default. */
export function* chunksOf(fd: number, bytes = Infinity): Generator<Buffer, void, undefined> {
  for (let at = 0; at < bytes; ) {
    const chunk = Buffer.allocUnsafe(Math.min(2 ** 20, bytes - at));
    const read = readSync(fd, chunk, 0, chunk.length, at);
    if (read === 0) return;
    yield chunk.subarray(0, read);
    at += read;
  }
}

/**
 * What an interrupted export wrote to its state file; null if none was interrupted. Throws
 * UsageError if `part`, what it had made, is of an export with other terms.
 */
export function interruptedExport<State extends { terms: object }>(
  part: string,
  stateFile: string,
  terms: State['terms'],
): State | null {
  if (!existsSync(stateFile) && !existsSync(part)) return null;
  const state = readState<State>(stateFile);
  if (state !== null && isDeepStrictEqual(state.terms, { ...terms })) return state;
  throw new UsageError(`${part} belongs to another export; remove it first`);
}

function readState<State>(path: string): State | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
