import { FindingError } from '../io.ts';
import { numberOf } from './line-orders.ts';

/** Most source ids of one import. */
export const sourceIdsMax = 10_000_000;
const lineMax = 2 ** 24;

/**
 * Stores for each source id the line and content of its first use: some 50 bytes a source id. Keys
 * are 53 bits and contents 29 bits of a SHA-256.
 */
export class SourceIdTable {
  /** The content and, in the lower 24 bits, the line of the first use. */
  readonly #first = new Map<number, number>();
  readonly #max: number;

  constructor(max = sourceIdsMax) {
    this.#max = max;
  }

  /**
   * Adds the source id of a line (`line` from 1). Returns the line of its first use if that had
   * other content, else null. `key` and `content` have at least 8 bytes. Throws FindingError for
   * more than ten million source ids.
   */
  note(key: Uint8Array, content: Uint8Array, line: number): number | null {
    const id = numberOf(key);
    const entry = Math.floor(numberOf(content) / lineMax);
    const first = this.#first.get(id);
    if (first !== undefined) {
      return Math.floor(first / lineMax) === entry ? null : first % lineMax;
    }
    if (this.#first.size >= this.#max || line >= lineMax) {
      throw new FindingError(
        `one import takes at most ${this.#max} lines with a sourceId: split the file`,
      );
    }
    this.#first.set(id, entry * lineMax + line);
    return null;
  }
}
