import { type GetNode, hashBytes, subtreeRoot, tilePath, tileWidth } from '@indelible/protocol';
import { sha } from './hashing.ts';
import type { TileSource } from './log-source.ts';

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
