import {
  createFindings,
  entryBytes,
  eventIdFromUuid,
  ServiceRecords,
  uuidFromBytes,
} from '@indelible/protocol';
import { noProgress, type Progress } from './log-source.ts';
import { RecordFile } from './record-file.ts';

/** The entries of a log, by sequence. */
export class EntryFile extends RecordFile {
  constructor() {
    super(entryBytes);
  }

  /** The id of the event at `sequence`; null beyond the entries. */
  eventIdAt(sequence: number): string | null {
    if (sequence >= this.size) return null;
    return eventIdFromUuid(uuidFromBytes(this.at(sequence), 12));
  }
}

/** A log that is being read: its entries and records so far, and what is wrong with it. */
export class Reading {
  readonly findings = createFindings();
  readonly file = new EntryFile();
  /** The service's own, of events that match their entries. */
  readonly records = new ServiceRecords();
  readonly progress: Progress;

  constructor(progress = noProgress) {
    this.progress = progress;
  }

  close(): void {
    this.file.close();
  }
}
