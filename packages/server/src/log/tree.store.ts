import {
  entryBytes,
  formatEntryTile,
  type GetNode,
  hashBytes,
  leafHash,
  type Sha256,
  subtreeRoot,
  tileWidth,
} from '@indelible/protocol';
import type { TenantTx } from '../postgres/db.ts';
import { int2Array, int8Array } from '../postgres/pg-arrays.ts';
import { raw, rowsOf } from '../postgres/sql.ts';
import { unreadable } from './entries.store.ts';

/** Levels of the tree in one tile. */
const tileHeight = 8;

type Query = Pick<TenantTx, 'query'>;

interface TilePlace {
  level: number;
  index: number;
}

/**
 * The stored data of these tiles, in the given order: entries of 60 bytes at level 0, hashes above.
 * A tile with a gap counts as empty, so that no entry is taken for its neighbour.
 */
async function readTiles(
  tx: Query,
  tenantId: string,
  tiles: readonly TilePlace[],
): Promise<Buffer[]> {
  const width = raw(tileWidth);
  const levels = int2Array(tiles.map(({ level }) => level));
  const indexes = int8Array(tiles.map(({ index }) => index));
  const rows = await rowsOf<{ data: Buffer | null }>(tx)`
    SELECT CASE WHEN w.level = 0 THEN coalesce(
        (SELECT t.data FROM log_tiles t
          WHERE t.tenant_id = ${tenantId} AND t.level = 0 AND t.index = w.index),
        (SELECT string_agg(t.entry, '' ORDER BY t.sequence) FROM log_tail t
          WHERE t.tenant_id = ${tenantId} AND t.sequence >= w.first AND t.sequence < w.first + ${width}
          HAVING min(t.sequence) = w.first AND max(t.sequence) = w.first + count(*) - 1))
      ELSE (SELECT string_agg(t.hash, '' ORDER BY t.index) FROM log_tiles t
          WHERE t.tenant_id = ${tenantId} AND t.level = w.level - 1
            AND t.index >= w.first AND t.index < w.first + ${width}
          HAVING min(t.index) = w.first AND max(t.index) = w.first + count(*) - 1)
      END AS data
    FROM (SELECT *, index * ${width} AS first FROM unnest(${levels}::int2[], ${indexes}::int8[])
      WITH ORDINALITY AS asked (level, index, place)) w
    ORDER BY place`;
  return rows.map(({ data }) => data ?? Buffer.alloc(0));
}

function parts(data: Buffer, size: number): Buffer[] {
  return Array.from({ length: data.length / size }, (_, at) =>
    data.subarray(at * size, (at + 1) * size),
  );
}

/** The existing hashes of a tile: leaf hashes at level 0, roots of full tiles above. */
function tileHashes(sha: Sha256, level: number, data: Buffer): Uint8Array[] {
  if (level > 0) return parts(data, hashBytes);
  return parts(data, entryBytes).map((entry) => leafHash(sha, entry));
}

/**
 * Nodes of a log, for proofs. Everything requested in one iteration of the event loop is read by
 * one statement, and each tile once: one or many proofs take one round trip. Throws RangeError for
 * an incomplete subtree.
 */
export function treeReader(tx: Query, sha: Sha256, tenantId: string): GetNode {
  const tiles = new Map<string, Promise<Uint8Array[]>>();
  let asked: TilePlace[] = [];
  let reading: Promise<Buffer[]> | undefined;
  const readAll = async () => {
    await Promise.resolve(); // collects the requests of this iteration of the event loop
    const places = asked;
    asked = [];
    reading = undefined;
    return readTiles(tx, tenantId, places);
  };
  const readTile = async (place: TilePlace) => {
    const at = asked.push(place) - 1;
    reading ??= readAll();
    const data = (await reading)[at];
    return tileHashes(sha, place.level, data ?? Buffer.alloc(0));
  };
  return async (level, index) => {
    const width = 2 ** (level % tileHeight);
    const first = index * width;
    const place = {
      level: Math.floor(level / tileHeight),
      index: Math.floor(first / tileWidth),
    };
    const key = `${place.level}/${place.index}`;
    const tile = tiles.get(key) ?? readTile(place);
    tiles.set(key, tile);
    const at = first % tileWidth;
    const hashes = (await tile).slice(at, at + width);
    if (hashes.length < width) throw new RangeError('the log does not hold that subtree');
    return subtreeRoot(sha, hashes);
  };
}

/** Nodes of the tenant's tree that its log must have. Throws LogDamaged if it does not. */
export function treeNodes(tx: TenantTx, sha: Sha256): GetNode {
  const nodes = treeReader(tx, sha, tx.tenantId);
  return (level, index) =>
    Promise.resolve(nodes(level, index)).catch((error: unknown) => {
      if (!(error instanceof RangeError)) throw error;
      throw unreadable('a log lacks entries or tiles that it counts', tx.tenantId);
    });
}

/**
 * The bytes of a tile as C2SP tlog-tiles serves them; null if the log of `size` entries is shorter.
 * Throws LogDamaged for a missing tile.
 */
export async function tileBytes(
  { tenantId, query }: TenantTx,
  sha: Sha256,
  tile: { level: number | 'entries'; index: number; width: number },
  size: number,
): Promise<Uint8Array | null> {
  const { level, index, width } = tile;
  const place = { level: level === 'entries' ? 0 : level, index };
  if ((index * tileWidth + width) * tileWidth ** place.level > size) return null;
  const [data = Buffer.alloc(0)] = await readTiles({ query }, tenantId, [place]);
  const pieces = level === 'entries' ? parts(data, entryBytes) : tileHashes(sha, level, data);
  if (pieces.length < width) throw unreadable('a log lacks a tile that it counts', tenantId);
  const wanted = Buffer.concat(pieces.slice(0, width));
  return level === 'entries' ? formatEntryTile(wanted) : wanted;
}
