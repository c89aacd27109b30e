import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * The process that owns a folder. `world` is the machine, container and boot in which a process
 * number is unique; `startedAt` tells it from a later process with the same number (`0`: unknown).
 */
export interface ProcessIdentity {
  world: string;
  pid: number;
  startedAt: string;
}

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  own ??= { world: worldTag(), pid: process.pid, startedAt: startOf(process.pid) ?? '0' };
  return own;
}

/**
 * Whether that process runs. Null if unknown: it belongs to another machine or container, or its
 * start time is not available.
 */
export function isAlive({ world, pid, startedAt }: ProcessIdentity): boolean | null {
  const here = ownIdentity();
  if (world !== here.world) return null;
  if (startedAt !== '0' && here.startedAt !== '0') return startOf(pid) === startedAt;
  return exists(pid) ? null : false;
}

function worldTag(): string {
  const facts = [
    hostname(),
    textOrEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    // Two containers may have one name and the same process numbers.
    textOrEmpty(() => readlinkSync('/proc/self/ns/pid')),
  ];
  return createHash('sha256').update(facts.join('\n')).digest('hex').slice(0, 12);
}

/** Clock ticks from boot to the start of the process (proc(5), field 22); null if unknown. */
function startOf(pid: number): string | null {
  const stat = textOrEmpty(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the program's name in parentheses; it may contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A zombie has ended; its parent has not collected it yet.
  return fields[0] === 'Z' ? null : (fields[19] ?? null);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function textOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
