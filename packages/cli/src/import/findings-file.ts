import { accessSync, closeSync, constants, openSync, realpathSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../exit-codes.ts';
import { jsonLine } from '../text.ts';

/**
 * A file of JSON lines that is made when the first one is written, for this user's eyes only, since
 * it holds what the source held. Each line is on its way to the disk before the next is judged: an
 * import that is interrupted leaves what it found.
 */
export class FindingsFile {
  readonly path: string;
  #fd: number | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /** Throws UsageError when the file cannot be written. */
  append(value: unknown): void {
    try {
      this.#fd ??= openSync(this.path, 'w', 0o600);
      writeSync(this.#fd, jsonLine(value));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new UsageError(`${this.path} cannot be written (${reason}); name one with --rejects`);
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/**
 * Where rejected lines and conflicting source ids go: beside the source, or in the current folder
 * when that one cannot be written or the source is a pipe. Throws UsageError for the source itself.
 */
export function findingsPaths(
  source: string,
  rejects: string | undefined,
): { rejected: string; conflicts: string } {
  const rejected = rejects ?? defaultPath(source);
  if (source !== '-' && samePath(source, rejected)) {
    throw new UsageError('--rejects names the file that is imported: name another one');
  }
  return { rejected, conflicts: `${rejected.replace(/\.rejected\.ndjson$/, '')}.conflicts.ndjson` };
}

function defaultPath(source: string): string {
  const name = `${source === '-' ? 'import' : basename(source)}.rejected.ndjson`;
  const folder = source === '-' ? '.' : dirname(source);
  return join(isWritable(folder) ? folder : '.', name);
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function samePath(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
