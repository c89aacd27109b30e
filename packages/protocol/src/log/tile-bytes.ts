import { FormatError } from './bytes.ts';
import { entryBytes } from './entry.ts';
import { hashBytes } from './merkle.ts';
import { tileWidth } from './tile-paths.ts';

/* The bytes of tiles, by C2SP tlog-tiles: adjacent hashes; entries after their u16 length. */

const lengthBytes = 2;
const framedBytes = lengthBytes + entryBytes;

/**
 * The entries of an entry bundle of this width, concatenated, 60 bytes each. FormatError for
 * another number of bytes or another entry length.
 */
export function parseEntryTile(bytes: Uint8Array, width: number): Uint8Array {
  if (width < 1 || width > tileWidth || bytes.length !== width * framedBytes) {
    throw new FormatError(`an entry tile of width ${width} has ${width * framedBytes} bytes`);
  }
  const entries = new Uint8Array(width * entryBytes);
  for (let index = 0; index < width; index += 1) {
    const at = index * framedBytes;
    if (bytes[at] !== 0 || bytes[at + 1] !== entryBytes) {
      throw new FormatError(`an entry of the tile does not have ${entryBytes} bytes`);
    }
    entries.set(bytes.subarray(at + lengthBytes, at + framedBytes), index * entryBytes);
  }
  return entries;
}

/** The entry bundle of 1 to 256 concatenated entries. FormatError for other counts. */
export function formatEntryTile(entries: Uint8Array): Uint8Array {
  const width = entries.length / entryBytes;
  if (!Number.isInteger(width) || width < 1 || width > tileWidth) {
    throw new FormatError(`a tile holds 1 to ${tileWidth} entries of ${entryBytes} bytes`);
  }
  const bytes = new Uint8Array(width * framedBytes);
  for (let index = 0; index < width; index += 1) {
    bytes[index * framedBytes + 1] = entryBytes;
    const entry = entries.subarray(index * entryBytes, (index + 1) * entryBytes);
    bytes.set(entry, index * framedBytes + lengthBytes);
  }
  return bytes;
}

/** Gets a hash tile; `bytes` is reused for the next one. */
export type OnTile = (level: number, index: number, width: number, bytes: Uint8Array) => void;

/** Builds hash tiles from the subtrees of a growing tree. */
export type TileMaker = ReturnType<typeof createTileMaker>;

/**
 * Emits every hash tile of a log of this size: full tiles when they are complete, partial ones at
 * the end. The tree must grow from empty; holds one tile for each level.
 */
export function createTileMaker(onTile: OnTile) {
  const levels: { bytes: Uint8Array; hashes: number }[] = [];
  return {
    onSubtree(nodeLevel: number, index: number, hash: Uint8Array): void {
      if (nodeLevel % 8 !== 0) return;
      const level = nodeLevel / 8;
      levels[level] ??= { bytes: new Uint8Array(tileWidth * hashBytes), hashes: 0 };
      const tile = levels[level];
      tile.bytes.set(hash, (index % tileWidth) * hashBytes);
      tile.hashes = index + 1;
      if (tile.hashes % tileWidth !== 0) return;
      onTile(level, tile.hashes / tileWidth - 1, tileWidth, tile.bytes);
    },
    /** Emits the partial tiles at the right edge. */
    finish(): void {
      for (const [level, { bytes, hashes }] of levels.entries()) {
        const width = hashes % tileWidth;
        if (width === 0) continue;
        onTile(level, Math.floor(hashes / tileWidth), width, bytes.subarray(0, width * hashBytes));
      }
    },
  };
}
