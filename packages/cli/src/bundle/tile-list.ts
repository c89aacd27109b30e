import { type TileLevel, tilePath, tileWidth } from '@indelible/protocol';

/** The paths of all tiles of a log of this size, by c2sp.org/tlog-tiles. */
export function* tilePathsOf(size: number): Generator<string, void, undefined> {
  yield* level('entries', size);
  let hashes = size;
  for (let at = 0; hashes > 0; at += 1) {
    yield* level(at, hashes);
    hashes = Math.floor(hashes / tileWidth);
  }
}

function* level(name: TileLevel, count: number): Generator<string, void, undefined> {
  const full = Math.floor(count / tileWidth);
  for (let index = 0; index < full; index += 1) yield tilePath(name, index);
  if (count % tileWidth > 0) yield tilePath(name, full, count % tileWidth);
}
