import { inclusionVerdict, type ProofVerdict } from '../verify/proof-verdict.ts';
import { decodeUtf8, FormatError, formatBase64, parseBase64 } from './bytes.ts';
import { openCheckpoint } from './checkpoint.ts';
import { hashBytes, type Sha256 } from './merkle.ts';
import { verifyInclusion } from './merkle-proofs.ts';

/** An inclusion proof that verifies offline, by C2SP tlog-proof (c2sp.org/tlog-proof@v1). */
export interface TlogProof {
  /** Number of the entry, from 0. */
  index: number;
  /** Sibling hashes, from the leaf up. */
  path: Uint8Array[];
  /** The signed note, unchanged. */
  checkpoint: string;
  /** Opaque and not proven; this log writes none. */
  extra?: Uint8Array;
}

const firstLine = 'c2sp.org/tlog-proof@v1';
/** The height of a tree of 2^63 leaves. */
export const pathHashesMax = 63;
const textMax = 1_010_000;

/** The text form. FormatError unless `parseTlogProof` would read exactly this proof. */
export function formatTlogProof({ index, path, checkpoint, extra }: TlogProof): string {
  const lines = [firstLine, ...(extra ? [`extra ${formatBase64(extra)}`] : []), `index ${index}`];
  const text = `${[...lines, ...path.map(formatBase64)].join('\n')}\n\n${checkpoint}`;
  parseTlogProof(text);
  return text;
}

/**
 * Reads the text form, without checking its checkpoint. FormatError: another first line, an index
 * that is missing or beyond 2^53 - 1, a hash that does not have 32 bytes, more than 63 hashes.
 */
export function parseTlogProof(source: string | Uint8Array): TlogProof {
  if (source.length > textMax) throw new FormatError('the proof is larger than 1 MB');
  const text = decodeUtf8(source, 'the proof');
  const end = text.indexOf('\n\n');
  if (end < 0) throw new FormatError('the proof has no empty line before its checkpoint');
  const [first, ...lines] = text.slice(0, end).split('\n');
  if (first !== firstLine) throw new FormatError(`the proof does not begin with ${firstLine}`);
  const extra = lines[0]?.startsWith('extra ') ? parseExtra(lines.shift() ?? '') : undefined;
  const index = parseIndex(lines.shift() ?? '');
  if (lines.length > pathHashesMax) throw new FormatError('the proof has too many hashes');
  const path = lines.map(parsePathHash);
  return { index, path, checkpoint: text.slice(end + 2), ...(extra ? { extra } : {}) };
}

function parseExtra(line: string): Uint8Array {
  const extra = parseBase64(line.slice('extra '.length));
  if (extra === null) throw new FormatError('the extra data of the proof is not base64');
  return extra;
}

function parseIndex(line: string): number {
  const [, digits] = /^index (0|[1-9]\d{0,15})$/.exec(line) ?? [];
  const index = Number(digits);
  if (!Number.isSafeInteger(index))
    throw new FormatError('the index of the proof is not a valid number');
  return index;
}

function parsePathHash(line: string): Uint8Array {
  const hash = parseBase64(line);
  if (hash?.length !== hashBytes)
    throw new FormatError('a hash of the proof does not have 32 bytes');
  return hash;
}

/** A known leaf: from the answer to a recording call, or recomputed. */
export interface Leaf {
  sequence: number;
  leafHash: Uint8Array;
}

/**
 * Whether the log of the proof's checkpoint contains the leaf at its sequence. Compares a receipt
 * (`sequence` and `leafHash` of the recording answer) with a later proof. Every problem of the
 * proof is a verdict; only malformed vkeys throw FormatError.
 */
export async function verifyTlogProof(
  sha: Sha256,
  proof: TlogProof,
  { sequence, leafHash }: Leaf,
  vkeys: readonly string[],
): Promise<ProofVerdict> {
  const { index, path } = proof;
  const opened = await openCheckpoint(sha, proof.checkpoint, vkeys);
  if (opened.code !== 'valid') return opened;
  const { size, root } = opened.checkpoint;
  const isIncluded = verifyInclusion(sha, { leafHash, index, size, path, root });
  return inclusionVerdict(isIncluded && index === sequence, sequence, opened.checkpoint);
}
