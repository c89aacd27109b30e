import { formatBase64 } from './bytes.ts';

/** An inclusion proof that verifies offline, by C2SP tlog-proof (c2sp.org/tlog-proof@v1). */
export interface TlogProof {
  /** Number of the entry, from 0. */
  index: number;
  /** Sibling hashes, from the leaf up. */
  path: readonly Uint8Array[];
  /** The signed note, unchanged. */
  checkpoint: string;
}

/** The text form. Other programs read it: ours read the JSON form, which has the event too. */
export function formatTlogProof({ index, path, checkpoint }: TlogProof): string {
  const lines = ['c2sp.org/tlog-proof@v1', `index ${index}`, ...path.map(formatBase64)];
  return `${lines.join('\n')}\n\n${checkpoint}`;
}
