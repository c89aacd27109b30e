import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import type { DraftThread } from './draft-thread.ts';
import type { PartLimits } from './part.ts';
import type { PartRow } from './store.ts';

export interface ArchiveDeps extends Pick<Parts, 'sha' | 'now' | 'objects' | 'recordOwn'> {
  /** Runs one transaction as the owner. */
  owner: <T>(work: (tx: WriterTx) => Promise<T>) => Promise<T>;
  /** An existing folder for temporary files. */
  tmpDir: string;
  limits: PartLimits;
  /** Makes a part when at least so many entries are left. */
  thread: DraftThread;
  threadFrom: number;
  /** When aborted, the run ends after its current part. */
  stopping?: AbortSignal;
}

/** A part in the archive, with its bookmark. */
export interface ArchivedPart extends Omit<PartRow, 'tenantId' | 'archivedAtMs'> {
  /** Entries that their event contradicts: damage, archived as found. */
  contradicted: number;
}
