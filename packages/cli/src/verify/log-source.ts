import { type GetNode, hashBytes, subtreeRoot, tilePath, tileWidth } from '@indelible/protocol';
import { sha } from './hashing.ts';

/** A source of a log: a running service, or the files of a bundle. */
export interface TileSource {
  /** The bytes of a tile below the log's prefix (`tile/…`), or null if absent. */
  tile(path: string): Promise<Uint8Array | null>;
  /** How many tiles to request at the same time. */
  readonly tilesAtOnce: number;
  /** The lowest level of stored hash tiles; lower ones are computed from the entries on request. */
  readonly lowestKeptLevel: 0 | 1;
}

/** Reports progress. */
export interface Progress {
  /** A new stage: its name, and its amount of work if known. */
  stage(name: string, total: number | null): void;
  advance(count: number): void;
  /** A note for the user. */
  note(text: string): void;
}

export const noProgress: Progress = { stage: () => {}, advance: () => {}, note: () => {} };

/**
 * Results 0 to `count` - 1 of `get` in order, with up to `atOnce` calls in flight. Ends with the
 * first error in that order; drops later results.
 */
export async function* inOrder<T>(
  count: number,
  atOnce: number,
  get: (index: number) => Promise<T>,
): AsyncGenerator<T, void, undefined> {
  const pending: Promise<T>[] = [];
  for (let next = 0; next < count || pending.length > 0; ) {
    for (; next < count && pending.length < atOnce; next += 1) {
      const call = get(next);
      // A call after a failed one is not awaited; its error must not end the process.
      call.catch(() => {});
      pending.push(call);
    }
    const first = pending.shift();
    if (first !== undefined) yield await first;
  }
}

/** Levels of the tree in one tile. */
const tileHeight = 8;

/**
 * The nodes of a log of this size, from its hash tiles; the caller compares the result with a
 * signed root. Throws RangeError for a node that is not in the tiles.
 */
export function tileNodes(source: TileSource, size: number): GetNode {
  return async (level, index) => {
    const tileLevel = Math.floor(level / tileHeight);
    const width = 2 ** (level % tileHeight);
    const first = index * width;
    const tileIndex = Math.floor(first / tileWidth);
    const hashes = Math.floor(size / tileWidth ** tileLevel) - tileIndex * tileWidth;
    const path = tilePath(tileLevel, tileIndex, Math.min(tileWidth, hashes));
    const bytes = await source.tile(path);
    if (bytes === null) throw new RangeError(`there is no ${path}`);
    const at = (first - tileIndex * tileWidth) * hashBytes;
    const nodes = Array.from({ length: width }, (_, n) =>
      bytes.subarray(at + n * hashBytes, at + (n + 1) * hashBytes),
    );
    return subtreeRoot(sha, nodes);
  };
}
