import type { IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  type Findings,
  FormatError,
  parseCheckpoint,
  parseNote,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';
import type { SeenCheckpoint } from './seen-checkpoints.ts';

/** What is left of a log that this machine knows by another name. */
export interface Reopened {
  /** Checkpoints of the other name whose entries the log still holds, oldest first. */
  kept: SeenCheckpoint[];
  /** What was seen and is lost, a sentence each. */
  lost: string[];
}

export interface ReopenedWanted {
  client: IndelibleClient;
  tenantId: string;
  /** What this machine has seen, the last of it under another name than the log has now. */
  seen: readonly SeenCheckpoint[];
  findings: Findings;
}

/**
 * Looks for the record with which a reopened log begins: behind the entries it went on with, it names
 * the last checkpoint that was published before. Without that record the log is just another one.
 */
export async function readReopened(wanted: ReopenedWanted): Promise<Reopened> {
  const { seen, findings } = wanted;
  const last = seen.at(-1)?.checkpoint;
  if (last === undefined) return { kept: [], lost: [] };
  const record = await recordOf(wanted, last.origin);
  if (record === null) {
    const message =
      `The log holds no record that it goes on from ${last.origin}, of which this machine has seen ` +
      `${last.size} entries. If that record has expired, begin anew with another --state.`;
    addDamage(findings, 'other_log', message);
    return { kept: [], lost: [] };
  }
  compareWithRecord(last, record, findings);
  const { sequence } = record;
  const kept = seen.filter(
    ({ checkpoint: { origin, size } }) => origin === last.origin && size <= sequence,
  );
  if (last.size <= sequence) return { kept, lost: [] };
  const sentence =
    `What ${last.size - sequence} entries said that this machine has seen in ${last.origin}, from ` +
    `${sequence} on: they are lost, and the log went on without them.`;
  return { kept, lost: [sentence] };
}

interface ReopeningRecord {
  /** Its place: as many entries as were left. */
  sequence: number;
  published: Checkpoint;
}

/** The record that goes on from the log of this origin; only the service itself can make one. */
async function recordOf(
  { client, tenantId }: ReopenedWanted,
  origin: string,
): Promise<ReopeningRecord | null> {
  const query = { action: ['reopen'], resource: ['audit_log'], resourceId: [tenantId] };
  for await (const event of client.list({ ...query, includeState: true })) {
    const published = checkpointIn(event.after?.lastPublishedCheckpoint);
    if (event.recordedBy.kind !== 'service' || published?.origin !== origin) continue;
    return { sequence: event.sequence, published };
  }
  return null;
}

function checkpointIn(note: unknown): Checkpoint | null {
  if (typeof note !== 'string') return null;
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  }
}

// Nothing that was shown to this machine can be newer than the last that was published.
function compareWithRecord(
  last: Checkpoint,
  { published }: ReopeningRecord,
  findings: Findings,
): void {
  if (published.size < last.size) {
    const message =
      `The log says that ${published.size} entries of ${last.origin} were published last, but this ` +
      `machine has seen ${last.size}.`;
    addDamage(findings, 'rolled_back', message);
  } else if (published.size === last.size && Buffer.compare(published.root, last.root) !== 0) {
    const message = `The log names another checkpoint of ${last.size} entries than this machine has seen.`;
    addDamage(findings, 'forked', message);
  }
}
