import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/index.ts';

export interface ArchiveDeps extends Pick<Parts, 'sha' | 'now' | 'objects' | 'recordOwn'> {
  /** Runs one transaction as the owner. */
  owner: <T>(work: (tx: WriterTx) => Promise<T>) => Promise<T>;
  /** An existing folder for temporary files. */
  tmpDir: string;
  limits: PartLimits;
  /** When aborted, the run ends after its current part. */
  stopping?: AbortSignal;
}

/** The largest part; the end of a month of receipt ends it earlier. */
export interface PartLimits {
  entries: number;
  /** Characters of diffs and states; limits memory and temporary files. */
  characters: number;
}

export const partLimits: PartLimits = { entries: 100_000, characters: 32 * 2 ** 20 };

/** A part in the archive, with its bookmark. */
export interface ArchivedPart {
  first: number;
  last: number;
  stem: string;
  events: number;
  bytes: number;
  /** Entries that their event contradicts: damage, archived as found. */
  contradicted: number;
}
