import type { Sha256 } from '@indelible/protocol';
import type { ObjectStore } from '../objects/index.ts';
import type { RecordOwn } from '../own-event.ts';
import type { WriterTx } from '../postgres/index.ts';

export interface ArchiveDeps {
  /** Runs one transaction as the owner. */
  owner: <T>(work: (tx: WriterTx) => Promise<T>) => Promise<T>;
  sha: Sha256;
  now: () => number;
  objects: ObjectStore;
  recordOwn: RecordOwn;
  /** An existing folder for the files that are being written. */
  tmpDir: string;
  limits: PartLimits;
  /** When it is aborted, the run ends with the part it is at. */
  stopping?: AbortSignal;
}

/** Where a part ends at the latest; a month of receipt ends it earlier. */
export interface PartLimits {
  entries: number;
  /** Characters of diffs and states, by which memory and temporary files are bounded. */
  characters: number;
}

export const partLimits: PartLimits = { entries: 100_000, characters: 32 * 2 ** 20 };

/** A part that is in the archive and bookmarked. */
export interface ArchivedPart {
  first: number;
  last: number;
  stem: string;
  events: number;
  bytes: number;
  /** Entries whose event contradicts them: damage, archived as it was found. */
  contradicted: number;
}
