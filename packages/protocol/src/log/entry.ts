import { uuidBytes, uuidFromBytes } from '../event/event-id.ts';
import { FormatError } from './bytes.ts';

/** The bytes of one log entry, which a leaf of the tree hashes. */
export const entryBytes = 60;

/** 2 exactly if the event has the segment `context`. */
export type EntryVersion = 1 | 2;

/** The version of the entry at `offset`; null if its first four bytes are those of none. */
export function entryVersion(view: DataView, offset = 0): EntryVersion | null {
  const start = view.getUint32(offset);
  if (start === 0x02_00_00_00) return 2;
  return start === 0x01_00_00_00 ? 1 : null;
}

/**
 * One log entry, decoded. `receivedAtUs` counts microseconds since 1970 and fits a safe integer.
 */
export interface LogEntry {
  version: EntryVersion;
  receivedAtUs: number;
  eventUuid: string;
  commitment: Uint8Array;
}

/**
 * The 60-byte entry, big-endian: `u8 version, 3 zero bytes, u64 received_at µs, 16 B
 * event id, 32 B commitment`. Without personal data, so it outlives the event's body.
 */
export function encodeEntry(entry: LogEntry): Uint8Array {
  const bytes = new Uint8Array(entryBytes);
  bytes[0] = entry.version;
  // Not through a DataView: that moves a small array out of the heap, which takes longer than this.
  const high = Math.floor(entry.receivedAtUs / 2 ** 32);
  const low = entry.receivedAtUs % 2 ** 32;
  for (let at = 0; at < 4; at++) {
    bytes[4 + at] = high >>> (24 - 8 * at);
    bytes[8 + at] = low >>> (24 - 8 * at);
  }
  uuidBytes(entry.eventUuid, bytes, 12);
  bytes.set(entry.commitment, 28);
  return bytes;
}

/** When the service took the entry: microseconds since 1970. */
export function receivedAtUs(entry: Uint8Array): number {
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  return view.getUint32(4) * 2 ** 32 + view.getUint32(8);
}

/** Decodes an entry. RangeError for another length or version, or non-zero padding. */
export function decodeEntry(bytes: Uint8Array): LogEntry {
  if (bytes.length !== entryBytes) throw new RangeError(`a log entry has ${entryBytes} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const version = entryVersion(view);
  if (version === null) throw new FormatError('a log entry of an unknown version');
  return {
    version,
    receivedAtUs: receivedAtUs(bytes),
    eventUuid: uuidFromBytes(bytes, 12),
    commitment: bytes.subarray(28),
  };
}
