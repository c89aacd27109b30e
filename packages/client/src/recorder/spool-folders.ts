import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

/*
 * Any number of processes may share a spool. Each recorder writes into folders of its own:
 *
 *   <owner>.<tag>     owned; the owner is a random name of the recorder
 *   free.<tag>        left behind by a recorder that was closed
 *
 * A folder keeps its tag when its owner changes. Tags begin with the time at which the folder was
 * made, so that they sort by age.
 *
 * The owner writes the file `lock` of its folders every 15 seconds. A lock that is a minute old
 * belongs to a process that has ended. To take a folder over is to rename it, which the file system
 * lets one process do, so two processes never own the same events.
 */

/** A folder whose lock was not written for so long counts as abandoned. */
const lockMsMax = 60_000;
/** After this long without writing its locks, a process checks that it still owns a folder. */
const unsureAfterMs = 30_000;
const lockName = 'lock';

/** A folder that this recorder owns from now on. */
export interface TakenFolder {
  path: string;
  /** Its former owner was closed, not killed. */
  wasReleased: boolean;
  /** What its former owner wrote into the lock; empty if there was none. */
  note: string;
}

/** The folders of one recorder below the spool's root. */
export class SpoolFolders {
  readonly #root: string;
  readonly #note: () => string;
  readonly #name = randomBytes(6).toString('hex');
  readonly #owned = new Set<string>();
  #touchedMs = Date.now();

  /** `note`: what the locks say, for the next owner. */
  constructor(root: string, note: () => string = () => '') {
    this.#root = root;
    this.#note = note;
  }

  /** Makes a new folder, owned by this recorder. */
  make(): string {
    const folder = join(this.#root, `${this.#name}.${newTag()}`);
    this.#makeRoot();
    mkdirSync(folder, { mode: 0o700 });
    this.#owned.add(folder);
    this.#lock(folder);
    return folder;
  }

  /**
   * Takes over abandoned folders, and returns them sorted by age. Throws if nothing can be written:
   * the first event that needs the disk would be too late to tell.
   */
  takeOver(): TakenFolder[] {
    this.#makeRoot();
    const nowMs = this.#now();
    return readdirSync(this.#root)
      .filter((name) => isFolder.test(name) && !this.#owned.has(join(this.#root, name)))
      .filter((name) => isFree(name) || nowMs - lockedMs(join(this.#root, name)) > lockMsMax)
      .sort((one, other) => (tagOf(one) < tagOf(other) ? -1 : 1))
      .flatMap((name) => this.#take(name));
  }

  /** Whether this recorder still owns the folder; reads the disk only after a long silence. */
  isStillOurs(folder: string): boolean {
    if (Date.now() - this.#touchedMs >= unsureAfterMs) this.touch();
    return this.#owned.has(folder);
  }

  /** Writes the locks, as a sign of life. */
  touch(): void {
    this.#touchedMs = Date.now();
    for (const folder of [...this.#owned]) {
      try {
        this.#lock(folder);
      } catch (error) {
        // Taken over: its new owner delivers its events. A full disk is no reason to give it up.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') this.#owned.delete(folder);
      }
    }
  }

  /** Removes a folder whose events are delivered. */
  remove(folder: string): void {
    this.#owned.delete(folder);
    rmSync(folder, { recursive: true, force: true });
  }

  /** Releases a folder to the next recorder, perhaps in this process. */
  release(folder: string): void {
    if (!this.#owned.delete(folder)) return;
    try {
      this.#lock(folder);
      renameSync(folder, join(this.#root, `free.${tagOf(folder)}`));
    } catch {
      // Taken over meanwhile; or it keeps our name, and is taken over when its lock is old.
    }
  }

  #makeRoot(): void {
    // Node's recursive mkdir never returns there.
    if (resolve(this.#root).startsWith('/proc/')) throw new Error('/proc takes no files');
    // Events hold personal data: other accounts must not read them.
    mkdirSync(this.#root, { recursive: true, mode: 0o700 });
  }

  /** The time of the file system: the clocks of machines that share it may differ. */
  #now(): number {
    const path = join(this.#root, `${this.#name}.now`);
    writeFileSync(path, '', { mode: 0o600 });
    const { mtimeMs } = statSync(path);
    rmSync(path, { force: true });
    return mtimeMs;
  }

  #lock(folder: string): void {
    writeFileSync(join(folder, lockName), this.#note(), { mode: 0o600 });
  }

  #take(name: string): TakenFolder[] {
    const former = join(this.#root, name);
    const path = join(this.#root, `${this.#name}.${tagOf(name)}`);
    try {
      const note = textOrEmpty(join(former, lockName));
      // Before the renaming: a third process must not find our name with an old lock.
      this.#lock(former);
      renameSync(former, path);
      this.#owned.add(path);
      return [{ path, wasReleased: isFree(name), note }];
    } catch {
      return []; // another process was faster
    }
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

const isFolder = /^[0-9a-z.]+\.[0-9a-f]{26}$/;
const isFree = (name: string) => name.startsWith('free.');

/** When its owner last gave a sign of life. Folders of earlier versions have no lock. */
function lockedMs(folder: string): number {
  const [lock, own] = [join(folder, lockName), folder].map((path) =>
    statSync(path, { throwIfNoEntry: false }),
  );
  return (lock ?? own)?.mtimeMs ?? Number.POSITIVE_INFINITY;
}

function textOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
