import { equalBytes, FormatError, formatBase64, parseBase64 } from './bytes.ts';
import { hashBytes, type Sha256 } from './merkle.ts';
import { verifyConsistency } from './merkle-proofs.ts';
import { type NoteVerdict, parseNote, parseVerifierKey, verifyNote } from './signed-note.ts';

/** The head of a log at one size, by C2SP tlog-checkpoint v1.0.0. */
export interface Checkpoint {
  /** `<host>/l/<32 hex>`: the name of the log, and of its keys. */
  origin: string;
  size: number;
  /** 32 bytes: the Merkle root of the first `size` entries. */
  root: Uint8Array;
}

/** The three signed lines. FormatError for a checkpoint that `parseCheckpoint` would refuse. */
export function formatCheckpoint({ origin, size, root }: Checkpoint): string {
  const text = `${origin}\n${size}\n${formatBase64(root)}\n`;
  parseCheckpoint(text);
  return text;
}

const checkpointText = /^([^\n]{1,1000})\n(0|[1-9]\d{0,15})\n([^\n]{44})\n$/;

/**
 * Reads the text of a checkpoint, without its signature (`openCheckpoint` checks that). FormatError
 * unless it has exactly three lines, a size up to 2^53 - 1 and a root of 32 bytes. The format
 * allows further lines; they are refused, because this log writes none and they could hide data.
 */
export function parseCheckpoint(text: string): Checkpoint {
  const [, origin = '', digits = '', base64 = ''] = checkpointText.exec(text) ?? [];
  if (origin === '') throw new FormatError('a checkpoint has three lines: origin, size and root');
  const size = Number(digits);
  if (!Number.isSafeInteger(size))
    throw new FormatError('the size of the checkpoint is not a valid number');
  const root = parseBase64(base64);
  if (root?.length !== hashBytes) throw new FormatError('the root of a checkpoint has 32 bytes');
  return { origin, size, root };
}

export type OpenedCheckpoint =
  | { code: 'valid'; message: string; checkpoint: Checkpoint }
  | { code: 'malformed_checkpoint' | Exclude<NoteVerdict, 'valid'>; message: string };

/**
 * Reads a signed checkpoint and checks its signature with the keys that have the log's name; a key
 * of another log proves nothing. Malformed vkeys throw FormatError; every problem of the note is a
 * verdict. A key's period of use is not checked, because a checkpoint has no time of signing.
 */
export async function openCheckpoint(
  sha: Sha256,
  source: string | Uint8Array,
  vkeys: readonly string[],
): Promise<OpenedCheckpoint> {
  const note = readNote(source);
  if (typeof note === 'string') return { code: 'malformed_checkpoint', message: note };
  const { checkpoint } = note;
  const own = vkeys.filter((vkey) => parseVerifierKey(sha, vkey).name === checkpoint.origin);
  const code = await verifyNote(sha, note, own);
  const named = `The ${sizedCheckpoint(checkpoint)}`;
  if (code === 'valid')
    return { code, checkpoint, message: `${named} is signed by the key of its log.` };
  const why =
    code === 'unknown_key'
      ? 'has no signature by a known key of that log'
      : 'has an invalid signature';
  return { code, message: `${named} ${why}: it proves nothing.` };
}

function readNote(source: string | Uint8Array) {
  try {
    const note = parseNote(source);
    return { ...note, checkpoint: parseCheckpoint(note.text) };
  } catch (error) {
    if (error instanceof FormatError) return `This is not a checkpoint: ${error.message}.`;
    throw error;
  }
}

/** The name of a checkpoint in sentences. */
export function sizedCheckpoint({ origin, size }: Checkpoint): string {
  return `checkpoint ${origin} of size ${size}`;
}

/**
 * `forked`: two signed roots of one size prove that the log has two histories. `inconsistent`: the
 * path does not show that the log continued from the earlier checkpoint; a fork, or a wrong path.
 */
export interface CheckpointComparison {
  code: 'same' | 'extends' | 'other_log' | 'rolled_back' | 'forked' | 'inconsistent';
  message: string;
}

/**
 * Compares a checkpoint with an earlier one; both have valid signatures. `path` is the consistency
 * proof between the two sizes; only the verdicts `extends` and `inconsistent` depend on it.
 */
export function compareCheckpoints(
  sha: Sha256,
  seen: Checkpoint,
  shown: Checkpoint,
  path: readonly Uint8Array[],
): CheckpointComparison {
  const now = `The ${sizedCheckpoint(shown)}`;
  if (seen.origin !== shown.origin) {
    const message = `${now} belongs to another log than ${seen.origin}, which this machine verified before.`;
    return { code: 'other_log', message };
  }
  if (shown.size < seen.size) {
    const message =
      `${now} is smaller than an earlier signed checkpoint of size ${seen.size}: entries ` +
      'were removed.';
    return { code: 'rolled_back', message };
  }
  if (shown.size === seen.size) return compareRoots(seen, shown);
  const claim = { first: seen.size, second: shown.size, path };
  const roots = { firstRoot: seen.root, secondRoot: shown.root };
  if (verifyConsistency(sha, { ...claim, ...roots })) {
    const message = `${now} contains the first ${seen.size} entries, verified before, unchanged.`;
    return { code: 'extends', message };
  }
  const message = `${now} is not proven to continue the earlier checkpoint of size ${seen.size}.`;
  return { code: 'inconsistent', message };
}

function compareRoots(seen: Checkpoint, shown: Checkpoint): CheckpointComparison {
  const now = `The ${sizedCheckpoint(shown)}`;
  if (equalBytes(seen.root, shown.root)) {
    return { code: 'same', message: `${now} is the same as the one verified before.` };
  }
  const message =
    `${now} has another root than an earlier signed checkpoint of the same size: the ` +
    'service signed two histories.';
  return { code: 'forked', message };
}
