import { parentPort, workerData } from 'node:worker_threads';
import { type BodyEntries, intactSequence } from '@indelible/protocol/body-entry';
import { sha } from './hashing.ts';
import { RecordFile, type SharedRecords } from './record-file.ts';

/* The program of the threads that compare body lines with their entries; see body-threads.ts. It
 * loads only what it needs, which halves the time of its start. */

export interface ThreadSettings extends Pick<BodyEntries, 'size' | 'tenantId'> {
  records: SharedRecords;
}

/** The entries from sequence `first` on, 60 bytes each. */
export interface EntryRange {
  first: number;
  bytes: Uint8Array;
}

/** Bytes of body lines. Their first line is compared only if it begins there. */
interface BodyBytes {
  bytes: Uint8Array<ArrayBuffer>;
  isLineStart: boolean;
  /** Default: those of the file. */
  entries?: EntryRange;
}

/** The same bytes, and for each line that ends there its sequence if it is intact, else -1. */
export interface BodyLines {
  bytes: Uint8Array<ArrayBuffer>;
  intact: number[];
}

const lineFeed = 0x0a;
const { records, size, tenantId } = workerData as ThreadSettings;
const file = new RecordFile(records.recordBytes, records);
const inFile: BodyEntries = { size, tenantId, entryAt: (sequence) => file.at(sequence) };

/** A sequence outside the range has an entry of no event. */
function inRange({ first, bytes }: EntryRange): BodyEntries {
  const entryAt = (sequence: number) => {
    const at = (sequence - first) * records.recordBytes;
    const isInRange = at >= 0 && at < bytes.length;
    return isInRange ? bytes.subarray(at, at + records.recordBytes) : noEntry;
  };
  return { size, tenantId, entryAt };
}

const noEntry = new Uint8Array(records.recordBytes);

parentPort?.on('message', ({ bytes, isLineStart, entries }: BodyBytes) => {
  const against = entries === undefined ? inFile : inRange(entries);
  const intact: number[] = [];
  let start = 0;
  for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
    const isWhole = start > 0 || isLineStart;
    intact.push(isWhole ? intactSequence(sha, bytes.subarray(start, end), against) : -1);
    start = end + 1;
  }
  parentPort?.postMessage({ bytes, intact } satisfies BodyLines, [bytes.buffer]);
});
