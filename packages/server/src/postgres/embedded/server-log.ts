import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';

const logBytesMax = 8 * 2 ** 20;

/** An open `postgres.log`; earlier content ends at `start` (bytes). */
export interface ServerLog {
  fd: number;
  path: string;
  start: number;
}

/**
 * Opens the server's log for a new run. Above 8 MiB the old one becomes `postgres.log.1`: the
 * reason of the last crash survives, and the size is limited.
 */
export function openServerLog(home: string): ServerLog {
  const path = join(home, 'postgres.log');
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > logBytesMax) renameSync(path, `${path}.1`);
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const fd = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  return { fd, path, start: fstatSync(fd).size };
}

/** What the server has written since the log was opened. */
export function textSince(log: ServerLog): string {
  return readFileSync(log.path).subarray(log.start).toString();
}

/** Closes our end; a server keeps writing to its own. */
export function closeServerLog(log: ServerLog): void {
  closeSync(log.fd);
}

/** Why a program of PostgreSQL failed: its first error; without one, its last line. */
export function failureIn(output: string): string {
  const [, error] = /(?:FATAL|PANIC|ERROR|error):\s+(.*)/.exec(output) ?? [];
  return error ?? output.trim().split('\n').at(-1) ?? '';
}
