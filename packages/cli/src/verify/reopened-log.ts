import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  type Findings,
  formerCheckpoints,
  type ReopenRecord,
  type ServiceRecords,
} from '@indelible/protocol';
import type { SeenCheckpoint } from './seen-checkpoints.ts';
import { checkpointOf } from './service-log.ts';
import { claimedCheckpoint } from './trusted-checkpoint.ts';

/** A log that this machine knows under another name. */
export interface Reopened {
  /** Checkpoints under the other name whose entries the log still has, oldest first. */
  kept: SeenCheckpoint[];
  /** Entries that were seen and are lost, a sentence each. */
  lost: string[];
  /** The log's record of the reopening, from the list; null if there is none. */
  record: ReopenRecord | null;
}

export interface ReopenedWanted {
  client: IndelibleClient;
  tenantId: string;
  /** The checkpoints that this machine has verified, oldest first. */
  seen: readonly SeenCheckpoint[];
  /** Keys that the caller trusts; empty: those that the service states. */
  vkeys: readonly string[];
  findings: Findings;
}

/**
 * For a log under another name than the last known checkpoint. Finds the record that a reopened log
 * begins with: after the kept entries, it names the last checkpoint published before. Without that
 * record it is a different log.
 */
export async function readReopened(wanted: ReopenedWanted): Promise<Reopened> {
  const { seen, findings } = wanted;
  const last = seen.at(-1)?.checkpoint;
  if (last === undefined) return { kept: [], lost: [], record: null };
  const found = await recordOf(wanted, last.origin);
  if (found === null) {
    const message =
      `The log has no record that it continues ${last.origin}, of which this machine ` +
      `verified ${last.size} entries. If that record has expired, start with another ` +
      '--state.';
    findings.add('other_log', message);
    return { kept: [], lost: [], record: null };
  }
  const { published, record } = found;
  await compareWithRecord(wanted, last, found);
  const { sequence } = record;
  const kept = seen.filter(
    ({ checkpoint: { origin, size } }) => origin === last.origin && size <= sequence,
  );
  return { kept, lost: lostSentences(last, published, sequence), record };
}

function lostSentences(last: Checkpoint, published: Checkpoint, sequence: number): string[] {
  const lost: string[] = [];
  if (published.size > sequence) {
    lost.push(
      `What ${published.size - sequence} entries said that were published in ` +
        `${last.origin}, from ${sequence} on: they are lost, and the log continued without them.`,
    );
  }
  if (last.size > sequence) {
    lost.push(`${last.size - sequence} of them existed when this machine verified that log.`);
  }
  return lost;
}

/**
 * The list proves nothing: the log itself, compared with its checkpoint, must contain this record
 * at this sequence.
 */
export function requireProven(
  { record }: Reopened,
  { reopenings }: ServiceRecords,
  findings: Findings,
): void {
  if (record === null) return; // said already
  const { sequence, note } = record;
  if (reopenings.some((each) => each.sequence === sequence && each.note === note)) return;
  const message = 'The list shows a record of the reopening that the log does not contain.';
  findings.add('other_log', message, { sequence });
}

interface FoundRecord {
  /** Its sequence is the number of kept entries. */
  record: ReopenRecord;
  published: Checkpoint;
}

/** The record that continues the log of this origin; only the service itself can make one. */
async function recordOf(
  { client, tenantId }: ReopenedWanted,
  origin: string,
): Promise<FoundRecord | null> {
  const query = { action: ['reopen'], resource: ['audit_log'], resourceId: [tenantId] };
  for await (const event of client.list({ ...query, includeState: true })) {
    if (event.recordedBy.kind !== 'service') continue;
    for (const note of formerCheckpoints(event.after ?? {})) {
      const published = claimedCheckpoint(note);
      if (published?.origin !== origin) continue;
      return { record: { sequence: event.sequence, note }, published };
    }
  }
  return null;
}

// A pinned key belongs to one log's name; the service states the keys of the other name.
function vkeysOf(origin: string, vkeys: readonly string[]): string[] {
  return vkeys.filter((vkey) => vkey.startsWith(`${origin}+`));
}

// No checkpoint that this machine saw can be newer than the last published one.
async function compareWithRecord(
  { client, vkeys, findings }: ReopenedWanted,
  last: Checkpoint,
  { published, record }: FoundRecord,
): Promise<void> {
  const note = new TextEncoder().encode(record.note);
  // It must be signed by the log that it names; otherwise the published state is unknown.
  await checkpointOf(note, client, vkeysOf(last.origin, vkeys), findings);
  if (published.size < last.size) {
    const message =
      `The log says that ${published.size} entries of ${last.origin} were published last, but this ` +
      `machine has seen ${last.size}.`;
    findings.add('rolled_back', message);
  } else if (published.size === last.size && Buffer.compare(published.root, last.root) !== 0) {
    const message = `The log names another checkpoint of ${last.size} entries than this machine has seen.`;
    findings.add('forked', message);
  }
}
