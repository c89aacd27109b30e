import { accessSync, closeSync, constants, openSync, realpathSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sentenceOf, UsageError } from '../io.ts';
import { jsonLine } from '../text.ts';

/** Takes what an import has found, line by line. */
export interface Findings {
  path: string | null;
  append(value: unknown): void;
  close(): void;
}

/** Keeps nothing: for a dry run. */
export const noFindings: Findings = { path: null, append: () => {}, close: () => {} };

/**
 * A file of JSON lines, created with the first line and readable by this user only, because it
 * holds data of the source. Each line is written before the next one is checked, so an interrupted
 * import keeps it.
 */
export class FindingsFile implements Findings {
  readonly path: string;
  #fd: number | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /** Throws UsageError if the file cannot be written. */
  append(value: unknown): void {
    try {
      this.#fd ??= openSync(this.path, 'w', 0o600);
      writeSync(this.#fd, jsonLine(value));
    } catch (error) {
      const reason = sentenceOf(error);
      throw new UsageError(`${this.path} cannot be written (${reason}); name one with --rejects`);
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/**
 * The files of rejected lines and conflicting source ids: beside the source, or in the current
 * folder if the source's folder is not writable or the source is a pipe. Throws UsageError if such
 * a file is the source itself.
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
