import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Checkpoint, parseCheckpoint, parseNote } from '@indelible/protocol';
import { type Environment, FindingError, sentenceOf, UsageError } from '../io.ts';
import { readIfThere, writeWhole } from '../kept-file.ts';

/** A checkpoint with which this machine has compared a whole log. */
export interface SeenCheckpoint {
  checkpoint: Checkpoint;
  /** The signed note; together with a contradicting one it proves the fork. */
  note: string;
  /** ISO 8601. */
  seenAt: string;
  /** The service's address (`host[:port]/path`); null if it was not stored. */
  service: string | null;
}

/** The known checkpoints of a tenant's log, oldest first. */
export type SeenOf = (tenantId: string) => readonly SeenCheckpoint[];

interface Kept {
  checkpoints: { note: string; seenAt: string; service?: string }[];
}

/** Older ones are dropped: each only narrows down where a rewritten log starts to differ. */
const keptMax = 50;

/** `--state`, else below XDG_STATE_HOME, else `~/.local/state/indelible/checkpoints`. */
export function stateFolder(option: string | undefined, env: Environment): string {
  if (option !== undefined) return resolve(option);
  const home = env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
  return join(home, 'indelible', 'checkpoints');
}

/** The stored name of the service at a URL. */
export function serviceAt(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname.replace(/\/+$/, '')}`;
}

/**
 * The known checkpoints of one tenant's log, oldest first. Stored by tenant (a UUID) instead of
 * origin: a log under another name must not look new. Two services may have a tenant with the same
 * UUID: a checkpoint with another address *and* another host in its origin belongs to another
 * service.
 */
export class SeenCheckpoints {
  readonly #folder: string;
  /** The file. */
  readonly path: string;
  readonly #service: string | null;

  constructor(folder: string, tenantId: string, service: string | null = null) {
    this.#folder = folder;
    this.path = join(folder, `${tenantId}.json`);
    this.#service = service;
  }

  /** Whether it belongs to the service that now shows a log of this origin, or none (null). */
  isOfService({ service, checkpoint }: SeenCheckpoint, origin: string | null): boolean {
    if (service === null || this.#service === null || service === this.#service) return true;
    return origin !== null && hostOf(checkpoint.origin) === hostOf(origin);
  }

  /** Throws FindingError if the file cannot be read: ignoring it would hide a rollback. */
  load(): SeenCheckpoint[] {
    try {
      const text = readIfThere(this.path);
      const { checkpoints } = JSON.parse(text ?? '{"checkpoints":[]}') as Kept;
      return checkpoints.map(({ note, seenAt, service = null }) => {
        return { note, seenAt, service, checkpoint: textOf(note) };
      });
    } catch (error) {
      throw new FindingError(
        `${this.path}, which holds the checkpoints that this machine verified, cannot be read ` +
          `(${sentenceOf(error)}); move it away to begin anew`,
      );
    }
  }

  /** Adds a verified checkpoint, atomically. Throws UsageError if it cannot be stored. */
  add(note: string, now: Date): void {
    const { origin } = textOf(note);
    const seen = this.load();
    const others = seen.filter((each) => !this.isOfService(each, origin));
    const own = seen.filter((each) => this.isOfService(each, origin) && each.note !== note);
    const kept = [...others, ...own.slice(1 - keptMax)].map(({ checkpoint: _, ...each }) => each);
    const added = { note, seenAt: now.toISOString(), service: this.#service };
    const checkpoints = [...kept, added].map(({ service, ...each }) => {
      return service === null ? each : { ...each, service };
    });
    const draft = `${this.path}.${randomBytes(6).toString('hex')}.tmp`;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeWhole(this.path, `${JSON.stringify({ checkpoints }, null, 1)}\n`, draft);
    } catch (error) {
      throw new UsageError(
        `the checkpoint cannot be kept in ${this.#folder} (${sentenceOf(error)}); name a folder with --state`,
      );
    }
  }
}

/** The seen checkpoints of the same log that its entries up to `shown` must agree with. */
export function earlierOf(shown: Checkpoint, seen: readonly SeenCheckpoint[]): SeenCheckpoint[] {
  return notBeyond(
    shown,
    seen.filter(({ checkpoint }) => checkpoint.origin === shown.origin),
  );
}

/**
 * The checkpoints that files must agree with. Files may be older than a reopening, so the name of
 * another log is no damage.
 */
export function seenOfFiles(shown: Checkpoint, seen: readonly SeenCheckpoint[] = []) {
  const earlier = earlierOf(shown, seen).map(({ checkpoint }) => checkpoint);
  const earlierSizes = earlier.map(({ size }) => size);
  const last = seen.at(-1);
  if (last === undefined || last.checkpoint.origin === shown.origin)
    return { earlier, earlierSizes, doesNotFollow: [] };
  const { origin, size } = last.checkpoint;
  const otherLog =
    `That this is the log ${origin}, of which this machine verified ${size} entries at ` +
    `${last.seenAt}: it has another name.`;
  return { earlier, earlierSizes, doesNotFollow: [otherLog] };
}

/** Those that are no longer than the checkpoint. */
export const notBeyond = ({ size }: Checkpoint, seen: readonly SeenCheckpoint[]) =>
  seen.filter(({ checkpoint }) => checkpoint.size <= size);

function textOf(note: string): Checkpoint {
  return parseCheckpoint(parseNote(note).text);
}

function hostOf(origin: string): string {
  return origin.replace(/\/l\/[^/]*$/, '');
}
