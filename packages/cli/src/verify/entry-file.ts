import { entryBytes, eventIdFromUuid, uuidFromBytes } from '@indelible/protocol';
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
