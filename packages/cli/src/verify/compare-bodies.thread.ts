import { parentPort, workerData } from 'node:worker_threads';
import { type BodyEntries, intactSequence } from '@indelible/protocol/body-entry';
import { sha } from './hashing.ts';
import { RecordFile, type SharedRecords } from './record-file.ts';

/* The program of the threads that compare body lines with their entries; see body-threads.ts. It
 * loads only what it needs, which halves the time of its start. */

export interface ThreadSettings extends Pick<BodyEntries, 'size' | 'tenantId'> {
  records: SharedRecords;
}

/** Bytes of body lines. Their first line is compared only if it begins there. */
export interface BodyBytes {
  bytes: Uint8Array<ArrayBuffer>;
  isLineStart: boolean;
}

/** The same bytes, and for each line that ends there its sequence if it is intact, else -1. */
export interface BodyLines {
  bytes: Uint8Array<ArrayBuffer>;
  intact: number[];
}

const lineFeed = 0x0a;
const { records, size, tenantId } = workerData as ThreadSettings;
const file = new RecordFile(records.recordBytes, records);
const against: BodyEntries = { size, tenantId, entryAt: (sequence) => file.at(sequence) };

parentPort?.on('message', ({ bytes, isLineStart }: BodyBytes) => {
  const intact: number[] = [];
  let start = 0;
  for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
    const isWhole = start > 0 || isLineStart;
    intact.push(isWhole ? intactSequence(sha, bytes.subarray(start, end), against) : -1);
    start = end + 1;
  }
  parentPort?.postMessage({ bytes, intact } satisfies BodyLines, [bytes.buffer]);
});
