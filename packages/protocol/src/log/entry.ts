import { uuidBytes, uuidFromBytes } from '../event/event-id.ts';

/** The bytes of one log entry, which a leaf of the tree hashes. */
export const entryBytes = 60;

/**
 * One log entry, decoded. `receivedAtUs` counts microseconds since 1970 and fits a safe integer.
 */
export interface LogEntry {
  receivedAtUs: number;
  eventUuid: string;
  commitment: Uint8Array;
}

/**
 * The 60-byte entry, version 1, big-endian: `u8 version, 3 zero bytes, u64 received_at µs, 16 B
 * event id, 32 B commitment`. Without personal data, so it outlives the event's body.
 */
export function encodeEntry(entry: LogEntry): Uint8Array {
  const bytes = new Uint8Array(entryBytes);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, 1);
  view.setUint32(4, Math.floor(entry.receivedAtUs / 2 ** 32));
  view.setUint32(8, entry.receivedAtUs % 2 ** 32);
  uuidBytes(entry.eventUuid, bytes, 12);
  bytes.set(entry.commitment, 28);
  return bytes;
}

/** Decodes an entry. RangeError for another length or version, or non-zero padding. */
export function decodeEntry(bytes: Uint8Array): LogEntry {
  if (bytes.length !== entryBytes) throw new RangeError(`a log entry has ${entryBytes} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  if (view.getUint32(0) !== 0x01_00_00_00) throw new RangeError('not a version 1 log entry');
  return {
    receivedAtUs: view.getUint32(4) * 2 ** 32 + view.getUint32(8),
    eventUuid: uuidFromBytes(bytes, 12),
    commitment: bytes.subarray(28),
  };
}
