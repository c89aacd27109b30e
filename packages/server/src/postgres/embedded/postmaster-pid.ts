import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOf } from './error-code.ts';

/** A running server's description of itself in `postmaster.pid`. */
export interface PostmasterPid {
  pid: number;
  socketFolder: string;
  /** `starting`, `stopping`, `ready`, `standby`; empty while the file is being written. */
  status: string;
}

/**
 * Reads `postmaster.pid`, whose lines are defined in PostgreSQL's `src/include/utils/pidfile.h`.
 * `undefined` if it names no process.
 */
export function parsePostmasterPid(text: string): PostmasterPid | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  // A standalone backend writes its pid negated; it is not a server.
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return { pid, socketFolder: lines[4] ?? '', status: lines[7] ?? '' };
}

/** The claim in `postmaster.pid`, which may be stale; `undefined` without one. */
export function readPostmasterPid(data: string): PostmasterPid | undefined {
  try {
    return parsePostmasterPid(readFileSync(join(data, 'postmaster.pid'), 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Whether process `pid` is the PostgreSQL server of folder `data`, not another process that got the
 * same number. False for a zombie.
 */
export function isPostmaster(pid: number, data: string): boolean {
  if (process.platform !== 'linux') return commandOf(pid).includes(`postgres -D ${data}`);
  const [program = '', , folder] = argumentsOf(pid);
  // Arguments are readable by all. The working folder also identifies a server whose data folder
  // was moved, but a container's root without CAP_SYS_PTRACE cannot read it.
  return basename(program) === 'postgres' && (folder === data || worksIn(pid, data));
}

export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function worksIn(pid: number, data: string): boolean {
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(data)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch {
    return false;
  }
}

function commandOf(pid: number): string {
  return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
}
