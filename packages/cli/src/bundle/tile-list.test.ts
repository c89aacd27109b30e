import { createFrontier, createTileMaker, emptyLogState, tilePath } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { sha } from '../verify/hashing.ts';
import { tilePathsOf } from './checksums.ts';

test('the hash tiles listed for a size are exactly those that a tree of this size has', () => {
  const leaf = new Uint8Array(32);
  for (const size of [0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 65_537, 70_000]) {
    const made: string[] = [];
    const maker = createTileMaker((level, index, width) => {
      made.push(tilePath(level, index, width));
    });
    const tree = createFrontier(emptyLogState, sha, maker.onSubtree);
    for (let count = 0; count < size; count += 1) tree.append(leaf);
    maker.finish();
    const listed = [...tilePathsOf(size)];
    const hashes = listed.filter((path) => !path.startsWith('tile/entries/'));
    expect(hashes.sort(), `${size}`).toEqual(made.sort());
    const entries = listed.filter((path) => path.startsWith('tile/entries/'));
    const lowest = hashes.filter((path) => path.startsWith('tile/0/'));
    expect(entries.map((path) => path.replace('entries', '0')).sort()).toEqual(lowest);
  }
});
