const slotWords = 5;
const slotsAtFirst = 1_024;
// A fuller table has runs of used slots that cost more time than the memory is worth.
const fullness = 0.75;

/**
 * Stores for each source id the line and content of its first use: 20 bytes a slot; with free
 * slots, 27 to 53 bytes a source id (up to 80 while the table doubles). Keys and contents are 64
 * bits of a SHA-256: among 100 million source ids, a collision occurs once in 3,700 runs.
 */
export class SourceIdTable {
  #slots = new Uint32Array(slotsAtFirst * slotWords);
  #size = 0;

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /**
   * Adds the source id of a line (`line` from 1). Returns the line of its first use if that had
   * other content, else null. `key` and `content` have at least 8 bytes.
   */
  note(key: Uint8Array, content: Uint8Array, line: number): number | null {
    const entry = [...wordsOf(key), ...wordsOf(content), line] as const;
    const at = this.#find(entry[0], entry[1]);
    const firstLine = this.#slots[at + 4] ?? 0;
    if (firstLine === 0) {
      this.#slots.set(entry, at);
      this.#size += 1;
      if (this.#size > (fullness * this.#slots.length) / slotWords) this.#grow();
      return null;
    }
    const same = this.#slots[at + 2] === entry[2] && this.#slots[at + 3] === entry[3];
    return same ? null : firstLine;
  }

  /** The slot of a key, or the free slot for it: the next after its hash. */
  #find(high: number, low: number): number {
    const slots = this.#slots.length / slotWords;
    for (let slot = low % slots; ; slot = (slot + 1) % slots) {
      const at = slot * slotWords;
      if (this.#slots[at + 4] === 0) return at;
      if (this.#slots[at] === high && this.#slots[at + 1] === low) return at;
    }
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (let at = 0; at < old.length; at += slotWords) {
      if (old[at + 4] === 0) continue;
      const target = this.#find(old[at] ?? 0, old[at + 1] ?? 0);
      this.#slots.set(old.subarray(at, at + slotWords), target);
    }
  }
}

function wordsOf(bytes: Uint8Array): [number, number] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return [view.getUint32(0), view.getUint32(4)];
}
