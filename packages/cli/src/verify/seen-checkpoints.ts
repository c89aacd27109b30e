import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Checkpoint, parseCheckpoint, parseNote } from '@indelible/protocol';
import { FindingError, UsageError } from '../exit-codes.ts';

/** A checkpoint that this machine has held a whole log against. */
export interface SeenCheckpoint {
  checkpoint: Checkpoint;
  /** The signed note: with a contradicting one it convicts the log. */
  note: string;
  /** ISO 8601. */
  seenAt: string;
}

interface Kept {
  checkpoints: { note: string; seenAt: string }[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Older ones go: each only narrows down where a rewritten log begins to differ. */
const keptMax = 50;

/** `--state`, else below XDG_STATE_HOME, else `~/.local/state/indelible/checkpoints`. */
export function stateFolder(option: string | undefined, env: Environment): string {
  if (option !== undefined) return resolve(option);
  const home = env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
  return join(home, 'indelible', 'checkpoints');
}

/**
 * The checkpoints of one tenant's log that were seen before, oldest first. They are kept by tenant (a
 * UUID), not by origin: a log under another name must not look like one that was never seen.
 */
export class SeenCheckpoints {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string, tenantId: string) {
    this.#folder = folder;
    this.#path = join(folder, `${tenantId}.json`);
  }

  /** Throws FindingError for a file that cannot be read: forgetting would hide a rollback. */
  load(): SeenCheckpoint[] {
    try {
      const { checkpoints } = JSON.parse(readFileSync(this.#path, 'utf8')) as Kept;
      return checkpoints.map(({ note, seenAt }) => ({ note, seenAt, checkpoint: textOf(note) }));
    } catch (error) {
      if (isAbsent(error)) return [];
      throw new FindingError(
        `${this.#path}, which tells what this machine has seen before, cannot be read ` +
          `(${reasonOf(error)}); move it away to begin anew`,
      );
    }
  }

  /** Adds a verified checkpoint; whole or not at all. Throws UsageError when it cannot be kept. */
  add(note: string, now: Date): void {
    const others = this.load().filter((each) => each.note !== note);
    const kept = [...others, { note, seenAt: now.toISOString() }].slice(-keptMax);
    const checkpoints = kept.map(({ note, seenAt }) => ({ note, seenAt }));
    const draft = `${this.#path}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(draft, `${JSON.stringify({ checkpoints }, null, 1)}\n`, { mode: 0o600 });
      renameSync(draft, this.#path);
    } catch (error) {
      throw new UsageError(
        `the checkpoint cannot be kept in ${this.#folder} (${reasonOf(error)}); name a folder with --state`,
      );
    }
  }
}

function textOf(note: string): Checkpoint {
  return parseCheckpoint(parseNote(note).text);
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
