import { createHash, randomBytes } from 'node:crypto';
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';

/*
 * A spool may be shared by any number of processes. Each writes into folders of its own, and the
 * name of a folder says whose it is:
 *
 *   <world>.<process number>.<its start>.<tag>     owned
 *   free.<tag>                                     left behind by a recorder that was closed
 *
 * A folder keeps its tag when its owner changes. Tags begin with the time at
 * which the folder was made, so that they sort by age: file systems tell
 * times to a few milliseconds only, and change them on every removal.
 *
 * To take a folder over is to rename it, which the file system lets one process do. So no lock can
 * outlive its holder, and two processes never own the same events.
 */

/** If the owner's state is unknown, a folder untouched for this long counts as abandoned. */
const silentMs = 60_000;
/** After this long without touching its folder, a process checks that it still owns it. */
const unsureAfterMs = 30_000;

/** A folder that this recorder owns from now on. */
export interface TakenFolder {
  path: string;
  /** Its former owner was closed, not killed. */
  wasReleased: boolean;
}

/** The folders of one recorder below the spool's root. */
export class SpoolFolders {
  readonly #root: string;
  readonly #owned = new Set<string>();
  /** When a foreign folder was last seen to change, by this process's clock. */
  readonly #seen = new Map<string, { mtimeMs: number; sinceMs: number }>();
  #touchedMs = Date.now();

  constructor(root: string) {
    this.#root = root;
  }

  /** Makes a new folder, owned by this recorder. */
  make(): string {
    const folder = join(this.#root, ownedName(newTag()));
    this.#makeRoot();
    mkdirSync(folder, { mode: 0o700 });
    this.#owned.add(folder);
    return folder;
  }

  /**
   * Takes over abandoned folders, and returns them sorted by age. Throws if nothing can be written:
   * the first event that needs the disk would be too late to tell.
   */
  takeOver(nowMs: number): TakenFolder[] {
    this.#makeRoot();
    accessSync(this.#root, constants.W_OK);
    return readdirSync(this.#root)
      .filter((name) => !this.#owned.has(join(this.#root, name)) && this.#isAbandoned(name, nowMs))
      .sort((one, other) => (tagOf(one) < tagOf(other) ? -1 : 1))
      .flatMap((name) => this.#take(name));
  }

  /** Whether this recorder still owns the folder; reads the disk only after a long silence. */
  isStillOurs(folder: string): boolean {
    if (Date.now() - this.#touchedMs < unsureAfterMs) return this.#owned.has(folder);
    this.touch();
    return this.#owned.has(folder);
  }

  /** Marks the folder as used, for other machines and containers. */
  touch(): void {
    const now = new Date();
    this.#touchedMs = now.getTime();
    for (const folder of [...this.#owned]) {
      try {
        utimesSync(folder, now, now);
      } catch {
        this.#owned.delete(folder); // taken over: its new owner delivers its events
      }
    }
  }

  /** Removes an empty folder. */
  remove(folder: string): void {
    this.#owned.delete(folder);
    try {
      rmdirSync(folder);
    } catch {
      // Taken over meanwhile, or it holds a foreign file: left as it is.
    }
  }

  /** Releases a folder to the next recorder, perhaps in this process. */
  release(folder: string): void {
    if (!this.#owned.delete(folder)) return;
    try {
      renameSync(folder, join(this.#root, `free.${tagOf(folder)}`));
    } catch {
      // Taken over meanwhile; or it keeps our name, and is taken over after this process ends.
    }
  }

  #makeRoot(): void {
    // Node's recursive mkdir never returns there.
    if (resolve(this.#root).startsWith('/proc/')) throw new Error('/proc takes no files');
    // Events hold personal data: other accounts must not read them.
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
  }

  #isAbandoned(name: string, nowMs: number): boolean {
    const owner = ownerOf(name);
    if (owner === undefined) return false; // not of our making
    const alive = owner === null ? false : isAlive(owner);
    return alive === null ? this.#isSilent(name, nowMs) : !alive;
  }

  /** Compares two observations instead of clocks, which may differ between machines. */
  #isSilent(name: string, nowMs: number): boolean {
    const mtimeMs = modifiedMs(join(this.#root, name));
    const seen = this.#seen.get(name);
    if (seen?.mtimeMs === mtimeMs) return nowMs - seen.sinceMs > silentMs;
    this.#seen.set(name, { mtimeMs, sinceMs: nowMs });
    return false;
  }

  #take(name: string): TakenFolder[] {
    const path = join(this.#root, ownedName(tagOf(name)));
    try {
      renameSync(join(this.#root, name), path);
    } catch {
      return []; // another process was faster
    }
    this.#seen.delete(name);
    this.#owned.add(path);
    return [{ path, wasReleased: ownerOf(name) === null }];
  }
}

let lastMadeUs = 0;

/** 14 hex digits: microseconds since 1970, ascending in a process. 12 more: random. */
function newTag(): string {
  lastMadeUs = Math.max(lastMadeUs + 1, Date.now() * 1_000);
  return lastMadeUs.toString(16).padStart(14, '0') + randomBytes(6).toString('hex');
}

/** What a folder keeps when its owner changes. */
export const tagOf = (folder: string) => folder.slice(folder.lastIndexOf('.') + 1);

function ownedName(tag: string): string {
  const { world, pid, startedAt } = ownIdentity();
  return `${world}.${pid}.${startedAt}.${tag}`;
}

/** Null: no owner. Undefined: not a folder of a spool. */
function ownerOf(name: string): ProcessIdentity | null | undefined {
  if (/^free\.[0-9a-f]{26}$/.test(name)) return null;
  const [, world, pid, startedAt] =
    /^([0-9a-f]{12})\.(\d{1,10})\.(\d{1,20})\.[0-9a-f]{26}$/.exec(name) ?? [];
  if (world === undefined || startedAt === undefined) return undefined;
  return { world, pid: Number(pid), startedAt };
}

function modifiedMs(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}

/**
 * The process that owns a folder. `world` is the machine, container and boot in which a process
 * number is unique; `startedAt` tells it from a later process with the same number (`0`: unknown).
 */
interface ProcessIdentity {
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
