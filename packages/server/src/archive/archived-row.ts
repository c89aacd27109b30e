import {
  type CommittedEvent,
  commitmentOfSegments,
  decodeEntry,
  encodeEntry,
  equalBytes,
  type LogEntry,
  type Sha256,
  segmentTexts,
} from '@indelible/protocol';

/** An event with what opens its commitment; both lists are in the order of `segmentNames`. */
export interface ArchivedBody {
  event: CommittedEvent;
  /** Null where the segment is erased, and for the state of an event without one. */
  salts: readonly (Uint8Array | null)[];
  /** The hashes of erased segments. */
  hashes: readonly (Uint8Array | null)[];
}

/** One entry of the log with its event, as a row of the archive. */
export interface ArchivedRow {
  sequence: number;
  uuid: string;
  receivedAtUs: number;
  /** Null when the event is not there any more. */
  body: ArchivedBody | null;
  /**
   * The entry's commitment, where the columns do not give it: the event is gone, or damaged.
   * Everywhere else it would be 32 bytes that do not compress and say nothing new.
   */
  commitment: Uint8Array | null;
}

export function rowOf(
  sha: Sha256,
  sequence: number,
  entry: Uint8Array,
  bodyOf: (uuid: string) => ArchivedBody | null,
): ArchivedRow {
  const { eventUuid, receivedAtUs, commitment } = decodeEntry(entry);
  const body = bodyOf(eventUuid);
  const isGiven = body !== null && equalBytes(bodyCommitment(sha, body), commitment);
  return {
    sequence,
    uuid: eventUuid,
    receivedAtUs,
    body,
    commitment: isGiven ? null : commitment,
  };
}

/** The 60 bytes of the log's entry. */
export function entryOf(sha: Sha256, row: ArchivedRow): Uint8Array {
  return encodeEntry(decodedEntryOf(sha, row));
}

/** Throws RangeError for a row that has neither event nor commitment. */
export function decodedEntryOf(sha: Sha256, row: ArchivedRow): LogEntry {
  const { uuid: eventUuid, receivedAtUs, body } = row;
  const commitment = row.commitment ?? (body && bodyCommitment(sha, body));
  if (!commitment) throw new RangeError(`row ${row.sequence} has no commitment`);
  return { eventUuid, receivedAtUs, commitment };
}

function bodyCommitment(sha: Sha256, { event, salts, hashes }: ArchivedBody): Uint8Array {
  return commitmentOfSegments(sha, segmentTexts(event), salts, hashes);
}
