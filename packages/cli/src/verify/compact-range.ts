import { hashBytes, type LogState, type OnSubtree } from '@indelible/protocol';

/** Remembers as much of a growing tree as is needed to let it grow further from there. */
export class CompactRange {
  /** The subtree of each level that became complete last. */
  readonly #last: Uint8Array[] = [];

  readonly onSubtree: OnSubtree = (level, _index, hash) => {
    this.#last[level] = hash;
  };

  /** The compact range of the `size` leaves that have been seen. */
  state(size: number): LogState {
    const roots: Uint8Array[] = [];
    for (let level = 0, rest = size; rest > 0; level += 1, rest = Math.floor(rest / 2)) {
      const root = this.#last[level];
      if (rest % 2 === 1 && root) roots.unshift(root);
    }
    const frontier = new Uint8Array(roots.length * hashBytes);
    for (const [index, root] of roots.entries()) frontier.set(root, index * hashBytes);
    return { size, frontier };
  }
}
