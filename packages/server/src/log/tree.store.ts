import {
  entryBytes,
  type GetNode,
  hashBytes,
  leafHash,
  type Sha256,
  subtreeRoot,
  tileWidth,
} from '@indelible/protocol';
import type { TenantTx } from '../db.ts';
import { readEntries } from './store.ts';

/** Levels of the tree that one tile spans. */
const tileHeight = 8;

/**
 * The hashes of a tile as far as they exist (256 when it is full): leaf hashes at level 0, above them
 * the roots of the full tiles below. Read from what is stored, never from the events.
 */
export async function tileHashes(tx: TenantTx, sha: Sha256, level: number, index: number): Promise<Uint8Array[]> {
  const start = index * tileWidth;
  if (level === 0) {
    const entries = await readEntries(tx, start, start + tileWidth);
    return entries.map((entry) => leafHash(sha, entry));
  }
  const { rows } = await tx.query<{ hash: Buffer }>({
    name: 'tile-hashes',
    text: `SELECT hash FROM log_tiles
      WHERE tenant_id = $1 AND level = $2 AND index >= $3::bigint AND index < $3::bigint + ${tileWidth}
      ORDER BY index`,
    values: [tx.tenantId, level - 1, start],
  });
  return rows.map((row) => row.hash);
}

/**
 * Nodes of the tenant's tree for proofs; each tile is read once a source. Throws RangeError for a
 * subtree that is not complete.
 */
export function treeNodes(tx: TenantTx, sha: Sha256): GetNode {
  const tiles = new Map<string, Promise<Uint8Array[]>>();
  return async (level, index) => {
    const tileLevel = Math.floor(level / tileHeight);
    const width = 2 ** (level % tileHeight);
    const first = index * width;
    const tileIndex = Math.floor(first / tileWidth);
    const key = `${tileLevel}/${tileIndex}`;
    const reading = tiles.get(key) ?? tileHashes(tx, sha, tileLevel, tileIndex);
    tiles.set(key, reading);
    const at = first - tileIndex * tileWidth;
    const hashes = (await reading).slice(at, at + width);
    if (hashes.length < width) throw new RangeError('the log does not hold that subtree');
    return subtreeRoot(sha, hashes);
  };
}

/** The bytes of a tile as C2SP tlog-tiles serves them, or null when the log is not that long. */
export async function tileBytes(
  tx: TenantTx,
  sha: Sha256,
  tile: { level: number | 'entries'; index: number; width: number },
): Promise<Buffer | null> {
  const { level, index, width } = tile;
  if (level === 'entries') {
    const start = index * tileWidth;
    const entries = await readEntries(tx, start, start + width);
    return entries.length < width ? null : Buffer.concat(entries.flatMap((entry) => [entryLength, entry]));
  }
  const hashes = await tileHashes(tx, sha, level, index);
  return hashes.length < width ? null : Buffer.concat(hashes.slice(0, width), width * hashBytes);
}

// Entry bundles put a big-endian u16 length before each entry.
const entryLength = Buffer.from([0, entryBytes]);
