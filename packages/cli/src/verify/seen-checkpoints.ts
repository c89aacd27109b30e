import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  compareCheckpoints,
  type Findings,
  parseCheckpoint,
  parseHex,
  parseNote,
} from '@indelible/protocol';
import { type Environment, FindingError, UsageError } from '../io.ts';
import { addDamage } from './damage.ts';
import { sha } from './hashing.ts';
import { headBelow } from './newer-events.ts';
import { type Reopened, readReopened } from './reopened-log.ts';
import { nullWhenFailed } from './service-log.ts';

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
  readonly #path: string;
  readonly #service: string | null;

  constructor(folder: string, tenantId: string, service: string | null = null) {
    this.#folder = folder;
    this.#path = join(folder, `${tenantId}.json`);
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
      const { checkpoints } = JSON.parse(readFileSync(this.#path, 'utf8')) as Kept;
      return checkpoints.map(({ note, seenAt, service = null }) => {
        return { note, seenAt, service, checkpoint: textOf(note) };
      });
    } catch (error) {
      if (isAbsent(error)) return [];
      throw new FindingError(
        `${this.#path}, which holds the checkpoints that this machine verified, cannot be read ` +
          `(${reasonOf(error)}); move it away to begin anew`,
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

function hostOf(origin: string): string {
  return origin.replace(/\/l\/[^/]*$/, '');
}

function isAbsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface SeenWanted {
  client: IndelibleClient;
  tenantId: string;
  /** The current checkpoint; its signature is verified. */
  shown: Checkpoint;
  /** Those that this machine has verified before, oldest first. */
  seen: readonly SeenCheckpoint[];
  /** Another origin than before is expected. */
  reopened: boolean;
  vkeys: readonly string[];
  findings: Findings;
}

export interface SeenComparison {
  /** Earlier checkpoints that the entries can still be compared with, oldest first. */
  earlier: readonly SeenCheckpoint[];
  doesNotFollow: readonly string[];
  /** The signed log became smaller: only earlier checkpoints show which entries are unchanged. */
  isRolledBack: boolean;
  /** Why the log counts as the one seen under another name; its record must prove that. */
  reopened: Reopened | null;
}

/** Compares a checkpoint with earlier ones, and with the size that the service states. */
export async function compareWithSeen(wanted: SeenWanted): Promise<SeenComparison> {
  const { client, shown, seen, findings, reopened } = wanted;
  await compareWithHead(client, shown, findings);
  const last = seen.at(-1)?.checkpoint;
  const nothing = { earlier: [], doesNotFollow: [], isRolledBack: false, reopened: null };
  if (last === undefined) return nothing;
  const isSameLog = last.origin === shown.origin;
  if (!isSameLog && reopened) {
    const reopened = await readReopened(wanted);
    const { kept, lost } = reopened;
    return { ...nothing, earlier: notBeyond(shown, kept), doesNotFollow: lost, reopened };
  }
  if (isSameLog) await compareWithLast(wanted, last);
  else addOtherLog(findings, last, shown);
  const ofThisLog = seen.filter(({ checkpoint }) => checkpoint.origin === shown.origin);
  const isRolledBack = isSameLog && last.size > shown.size;
  return { ...nothing, earlier: notBeyond(shown, ofThisLog), isRolledBack };
}

const notBeyond = ({ size }: Checkpoint, seen: readonly SeenCheckpoint[]) =>
  seen.filter(({ checkpoint }) => checkpoint.size <= size);

async function compareWithLast({ client, shown, findings }: SeenWanted, last: Checkpoint) {
  const isLonger = last.size < shown.size;
  const path = isLonger ? await consistencyPath(client, last.size, shown.size) : [];
  const { code, message } = compareCheckpoints(sha, last, shown, path);
  if (code === 'same' || code === 'extends') return;
  addDamage(findings, code, message);
}

/** Without a path, nothing proves consistency. */
async function consistencyPath(client: IndelibleClient, first: number, second: number) {
  const proof = await client.log.consistency(first, second).catch(nullWhenFailed);
  const path = proof?.path.map((hash) => parseHex(hash)) ?? [];
  return path.some((hash) => hash === null) ? [] : path.filter((hash) => hash !== null);
}

/** The service may serve entries that its own count has lost; it would sign over them next. */
async function compareWithHead(client: IndelibleClient, shown: Checkpoint, findings: Findings) {
  if ((await client.log.consistency(shown.size, shown.size)) !== null) return;
  const size = await headBelow(client, shown.size);
  const message = `The service says that its log has ${size} entries, but it has signed ${shown.size}.`;
  addDamage(findings, 'head_behind', message, { sequence: size });
}

function addOtherLog(findings: Findings, last: Checkpoint, shown: Checkpoint): void {
  const message =
    `This machine verified the log ${last.origin} with ${last.size} entries; now the ` +
    `tenant's log is ${shown.origin}. If the operator announced that the log was ` +
    'reopened, accept it with --reopened. If this is another service, use another ' +
    '--state.';
  addDamage(findings, 'other_log', message);
}
