import { eventIdFromUuid, uuidFromBytes } from '../event/event-id.ts';
import { equalBytes, FormatError } from '../log/bytes.ts';
import { type Checkpoint, sizedCheckpoint } from '../log/checkpoint.ts';
import { entryBytes, entryVersion } from '../log/entry.ts';
import {
  createFrontier,
  emptyLogState,
  type Frontier,
  type LogState,
  type OnSubtree,
  type Sha256,
} from '../log/merkle.ts';
import type { FindingCode, Findings } from './findings.ts';

export interface EntryPassOptions {
  sha: Sha256;
  findings: Findings;
  /** The checkpoint to compare with; its signature is already verified. */
  checkpoint: Checkpoint;
  /** Earlier signed checkpoints of the same log, compared with the same entries. */
  earlier?: readonly Checkpoint[];
  /** The log before the entries that follow; it is proven with them. Default: the empty log. */
  start?: LogState;
  /** Called for each leaf hash and each complete subtree, as by a `TileMaker`. */
  onSubtree?: OnSubtree;
}

/**
 * The first pass over a log: recomputes the tree from all entries, in order, and compares it with
 * the checkpoint. The caller keeps the entries for a `BodyPass`; until `finish` has found no
 * problem, they are untrusted. Memory does not grow with the log.
 */
export class EntryPass {
  readonly #options: EntryPassOptions;
  readonly #tree: Frontier;
  readonly #earlier: Checkpoint[];
  readonly #leaf = new Uint8Array(1 + entryBytes); // the 00 of a leaf, then the entry
  #size = 0;
  #lastReceivedUs = 0;
  #agreed = 0;
  /** The entries of which one differs from the signed ones, if a root showed that. */
  differs: { from: number; to: number } | null = null;

  constructor(options: EntryPassOptions) {
    this.#options = options;
    const { start = emptyLogState } = options;
    this.#tree = createFrontier(start, options.sha, options.onSubtree);
    this.#size = start.size;
    this.#earlier = [...(options.earlier ?? [])].sort((a, b) => a.size - b.size);
    this.#compareEarlier();
  }

  /** Entries so far, with those before the start. */
  get size(): number {
    return this.#size;
  }

  /**
   * The next entries, 60 bytes each. FormatError for an incomplete entry: then the bytes were split
   * wrongly, which says nothing about the log.
   */
  add(entries: Uint8Array): void {
    if (entries.length % entryBytes !== 0) throw new FormatError('an entry has 60 bytes');
    const view = new DataView(entries.buffer, entries.byteOffset, entries.length);
    for (let at = 0; at < entries.length; at += entryBytes) {
      this.#checkEntry(entries, view, at);
      this.#leaf.set(entries.subarray(at, at + entryBytes), 1);
      this.#tree.append(this.#options.sha(this.#leaf));
      this.#size += 1;
      if (this.#earlier.length > 0) this.#compareEarlier();
    }
  }

  #checkEntry(entries: Uint8Array, view: DataView, at: number): void {
    const receivedUs = view.getUint32(at + 4) * 2 ** 32 + view.getUint32(at + 8);
    if (entryVersion(view, at) === null || !isEventUuid(view, at + 12)) {
      this.#addEntry('malformed_entry', entries, at);
    } else if (receivedUs < this.#lastReceivedUs) {
      this.#addEntry('receipt_goes_back', entries, at);
    }
    this.#lastReceivedUs = receivedUs;
  }

  #addEntry(code: keyof typeof entryProblems, entries: Uint8Array, at: number): void {
    const eventId = eventIdFromUuid(uuidFromBytes(entries, at + 12));
    this.#add(code, this.#size, `entry ${this.#size} ${entryProblems[code]}.`, eventId);
  }

  #compareEarlier(): void {
    for (let seen = this.#earlier[0]; seen && seen.size <= this.#size; seen = this.#earlier[0]) {
      this.#earlier.shift();
      if (equalBytes(this.#tree.root(), seen.root)) {
        this.#agreed = seen.size;
        continue;
      }
      this.differs ??= { from: this.#agreed, to: seen.size - 1 };
      const message =
        `the first ${seen.size} entries do not match the checkpoint of size ${seen.size} ` +
        'that was verified before: the log was rewritten, or the service shows another log.';
      this.#add('earlier_root_mismatch', null, message);
    }
  }

  /** Compares with the checkpoint and adds findings. Call it once, after the last entry. */
  finish(): void {
    const { checkpoint } = this.#options;
    for (const seen of this.#earlier) {
      const message = `the log ends at ${this.#size} entries; ${seen.size} were signed before.`;
      this.#add('missing_entries', this.#size, message);
    }
    if (this.#size < checkpoint.size) {
      this.#add('missing_entries', this.#size, `the log ends at ${this.#size} entries.`);
    } else if (this.#size > checkpoint.size) {
      this.#add('surplus_entries', checkpoint.size, `there are ${this.#size} entries.`);
    } else if (!equalBytes(this.#tree.root(), checkpoint.root)) {
      this.differs ??= { from: this.#agreed, to: this.#size - 1 };
      const message =
        'the entries give another root: at least one was changed, moved or replaced. The ' +
        'root does not show which one.';
      this.#add('root_mismatch', null, message);
    }
  }

  #add(code: FindingCode, sequence: number | null, message: string, eventId: string | null = null) {
    const against = `Against ${sizedCheckpoint(this.#options.checkpoint)}`;
    this.#options.findings.add(code, `${against}: ${message}`, { sequence, eventId });
  }
}

const entryProblems = {
  malformed_entry: 'is of no known version, or the id in it is not that of an event',
  receipt_goes_back: 'was received before the entry it follows',
};

// Version 7 and variant 10 of RFC 9562.
function isEventUuid(view: DataView, at: number): boolean {
  return (view.getUint8(at + 6) & 0xf0) === 0x70 && (view.getUint8(at + 8) & 0xc0) === 0x80;
}
