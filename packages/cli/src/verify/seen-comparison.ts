import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  compareCheckpoints,
  counted,
  type Findings,
  parseHex,
} from '@indelible/protocol';
import { sha } from './hashing.ts';
import { headBelow } from './newer-events.ts';
import { type Reopened, type ReopenedWanted, readReopened } from './reopened-log.ts';
import { earlierOf, notBeyond, type SeenCheckpoint } from './seen-checkpoints.ts';
import { nullWhenFailed } from './service-log.ts';

interface SeenWanted extends ReopenedWanted {
  /** The current checkpoint; its signature is verified. */
  shown: Checkpoint;
  /** The file that keeps those that this machine has verified before. */
  seenPath: string;
  /** Another origin than before is expected. */
  reopened: boolean;
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
  const lastSeen = seen.at(-1);
  const last = lastSeen?.checkpoint;
  const nothing = { earlier: [], doesNotFollow: [], isRolledBack: false, reopened: null };
  if (lastSeen === undefined || last === undefined) return nothing;
  const isSameLog = last.origin === shown.origin;
  if (!isSameLog && reopened) {
    const reopened = await readReopened(wanted);
    const { kept, lost } = reopened;
    return { ...nothing, earlier: notBeyond(shown, kept), doesNotFollow: lost, reopened };
  }
  if (isSameLog) await compareWithLast(wanted, last);
  else addOtherLog(wanted, lastSeen);
  const isRolledBack = isSameLog && last.size > shown.size;
  return { ...nothing, earlier: earlierOf(shown, seen), isRolledBack };
}

async function compareWithLast({ client, shown, findings }: SeenWanted, last: Checkpoint) {
  const isLonger = last.size < shown.size;
  const path = isLonger ? await consistencyPath(client, last.size, shown.size) : [];
  const { code, message } = compareCheckpoints(sha, last, shown, path);
  if (code === 'same' || code === 'extends') return;
  findings.add(code, message);
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
  findings.add('head_behind', message, { sequence: size });
}

function addOtherLog({ shown, seenPath, findings }: SeenWanted, last: SeenCheckpoint): void {
  const { origin, size } = last.checkpoint;
  const message =
    `This is another log than the one that this machine verified before: that was ${origin} ` +
    `with ${counted(size, 'entry', 'entries')} at ${last.seenAt}, kept in ${seenPath}. The ` +
    `tenant's log is now ${shown.origin}. If the service was not newly installed, its database ` +
    'was replaced or rewritten: keep that file, it proves what the former log had, and ask the ' +
    `operator. If the service was newly installed, move ${seenPath} away and verify again. If ` +
    'the operator announced that the log was reopened, add --reopened. If this is another ' +
    'service, use another --state.';
  findings.add('other_log', message);
}
