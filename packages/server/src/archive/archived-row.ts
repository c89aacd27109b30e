import {
  type CommittedEvent,
  commitmentOfSegments,
  type EntryVersion,
  encodeEntry,
  equalBytes,
  eventSalt,
  type LogEntry,
  type Sha256,
  segmentNames,
  segmentTexts,
} from '@indelible/protocol';

/** An event with the values that open its commitment; lists in the order of `segmentNames`. */
export interface ArchivedBody {
  event: CommittedEvent;
  /** Null for an erased segment, and for the absent state. */
  salts: readonly (Uint8Array | null)[];
  /** The hashes of erased segments. */
  hashes: readonly (Uint8Array | null)[];
}

/** One entry of the log with its event, as a row of the archive. */
export interface ArchivedRow {
  /** The version of the log entry. */
  version: EntryVersion;
  sequence: number;
  uuid: string;
  receivedAtUs: number;
  /** Null if the event no longer exists. */
  body: ArchivedBody | null;
  /**
   * The entry's commitment if the columns do not give it: the event is removed or damaged.
   * Otherwise it would be 32 incompressible bytes without information.
   */
  commitment: Uint8Array | null;
}

const [changeAt, eventAt] = [segmentNames.indexOf('change'), segmentNames.indexOf('event')];

/** These salts with that of the event, if they lack it because it follows from another one. */
export function withEventSalt(sha: Sha256, salts: ArchivedBody['salts']): ArchivedBody['salts'] {
  const change = salts[changeAt];
  return salts[eventAt] || !change ? salts : salts.with(eventAt, eventSalt(sha, change));
}

/** The salt of the event, unless it follows from another one. */
export function keptEventSalt(sha: Sha256, { salts }: ArchivedBody): Uint8Array | null {
  const [change, salt] = [salts[changeAt], salts[eventAt]];
  return change && salt && equalBytes(salt, eventSalt(sha, change)) ? null : (salt ?? null);
}

export function rowOf(
  sha: Sha256,
  sequence: number,
  { version, eventUuid, receivedAtUs, commitment }: LogEntry,
  body: ArchivedBody | null,
): ArchivedRow {
  const isGiven = body !== null && equalBytes(bodyCommitment(sha, body), commitment);
  return {
    version,
    sequence,
    uuid: eventUuid,
    receivedAtUs,
    body,
    commitment: isGiven ? null : commitment,
  };
}

/** The 60 bytes of the log entry. */
export function entryOf(sha: Sha256, row: ArchivedRow): Uint8Array {
  return encodeEntry(decodedEntryOf(sha, row));
}

/** Throws RangeError for a row with neither event nor commitment. */
export function decodedEntryOf(sha: Sha256, row: ArchivedRow): LogEntry {
  const { version, uuid: eventUuid, receivedAtUs, body } = row;
  const commitment = row.commitment ?? (body && bodyCommitment(sha, body));
  if (!commitment) throw new RangeError(`row ${row.sequence} has no commitment`);
  return { version, eventUuid, receivedAtUs, commitment };
}

function bodyCommitment(sha: Sha256, { event, salts, hashes }: ArchivedBody): Uint8Array {
  return commitmentOfSegments(sha, segmentTexts(event), salts, hashes);
}
