import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entriesOf, recordPlain, sha } from '../testing/recorded-log.ts';
import { parsedOrRefused, tamperedWith } from '../testing/tampering.ts';
import { FormatError } from './bytes.ts';
import { createFrontier, emptyLogState, subtreeRoot } from './merkle.ts';
import { createTileMaker, formatEntryTile, parseEntryTile } from './tile-bytes.ts';
import { tilePath } from './tile-paths.ts';

const hashAt = (index: number) =>
  Uint8Array.from({ length: 32 }, (_, at) => (index >> (8 * (at % 4))) & 255);

const anyHash = hashAt(0);

/** Paths of the tiles that a log of this size is served as, in the order in which they are made. */
function tilesOf(size: number): string[] {
  const paths: string[] = [];
  const maker = createTileMaker((level, index, width) => paths.push(tilePath(level, index, width)));
  for (let index = 0; index < size; index += 1) {
    // Only whether a subtree is complete matters here, not its hash.
    for (let level = 0; (index + 1) % 256 ** level === 0; level += 1) {
      maker.onSubtree(8 * level, (index + 1) / 256 ** level - 1, anyHash);
    }
  }
  maker.finish();
  return paths;
}

test('logs are cut into the tiles that C2SP tlog-tiles says', () => {
  expect(tilesOf(0)).toEqual([]);
  expect(tilesOf(255)).toEqual(['tile/0/000.p/255']);
  expect(tilesOf(256)).toEqual(['tile/0/000', 'tile/1/000.p/1']);
  expect(tilesOf(257)).toEqual(['tile/0/000', 'tile/0/001.p/1', 'tile/1/000.p/1']);
  // "273 full level 0 tiles, one partial level 0 tile of width 112, one full level 1 tile, one
  // partial level 1 tile of width 17, and one partial level 2 tile of width 1"
  const tiles = tilesOf(70_000);
  expect(tiles.filter((path) => /^tile\/0\/\d+$/.test(path))).toHaveLength(273);
  expect(tiles.filter((path) => !/^tile\/0\/\d+$/.test(path))).toEqual([
    'tile/1/000',
    'tile/0/273.p/112',
    'tile/1/001.p/17',
    'tile/2/000.p/1',
  ]);
  expect(tilesOf(65_536).slice(-3)).toEqual(['tile/0/255', 'tile/1/000', 'tile/2/000.p/1']);
  expect(tilesOf(1_234_067).slice(-4)).toEqual([
    'tile/0/x004/819',
    'tile/0/x004/820.p/147',
    'tile/1/018.p/212',
    'tile/2/000.p/18',
  ]);
});

test('the hashes of a tile are those of the tree, level by level', () => {
  const leaves = Array.from({ length: 600 }, (_, index) => hashAt(index));
  const made = new Map<string, string>();
  const maker = createTileMaker((level, index, width, bytes) =>
    made.set(tilePath(level, index, width), Buffer.from(bytes).toString('hex')),
  );
  const tree = createFrontier(emptyLogState, sha, maker.onSubtree);
  for (const leaf of leaves) tree.append(leaf);
  maker.finish();
  const hex = (hashes: Uint8Array[]) => Buffer.concat(hashes).toString('hex');
  const rootOfTile = (index: number) =>
    subtreeRoot(sha, leaves.slice(256 * index, 256 * index + 256));
  expect(Object.fromEntries(made)).toEqual({
    'tile/0/000': hex(leaves.slice(0, 256)),
    'tile/0/001': hex(leaves.slice(256, 512)),
    'tile/0/002.p/88': hex(leaves.slice(512)),
    'tile/1/000.p/2': hex([rootOfTile(0), rootOfTile(1)]),
  });
});

test('an entry tile is read back as it was written', () => {
  const entries = entriesOf(recordPlain(256));
  for (const width of [1, 2, 255, 256]) {
    const bytes = formatEntryTile(entries.subarray(0, width * 60));
    expect(bytes).toHaveLength(width * 62);
    expect([...bytes.subarray(0, 3)]).toEqual([0, 60, 1]);
    expect(parseEntryTile(bytes, width)).toEqual(entries.subarray(0, width * 60));
  }
});

test('an entry tile of another width, or with an entry of another length, is refused', () => {
  const tile = formatEntryTile(entriesOf(recordPlain(3)));
  for (const width of [0, 1, 2, 4, 257, -1, 2.5, Number.NaN]) {
    expect(() => parseEntryTile(tile, width)).toThrow(FormatError);
  }
  const longer = Uint8Array.from(tile);
  longer[63] = 61;
  expect(() => parseEntryTile(longer, 3)).toThrow(FormatError);
  for (const length of [0, 59, 257 * 60]) {
    expect(() => formatEntryTile(new Uint8Array(length))).toThrow(FormatError);
  }
  fc.assert(
    fc.property(tamperedWith(tile), fc.nat(300), (bytes, width) => {
      const entries = parsedOrRefused(() => parseEntryTile(bytes, width));
      if (entries !== null) expect(formatEntryTile(entries)).toEqual(bytes);
    }),
  );
});
