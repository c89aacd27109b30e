import { openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lineBlocks } from './bundle-files.ts';

const folder = newFolder();
const path = join(folder, 'lines');

function blocksOf(text: string, lineBytesMax: number, blockBytes: number): string[] {
  writeFileSync(path, text);
  const blocks: string[] = [];
  // A block is good until the next: its text must be taken at once.
  for (const block of lineBlocks(openSync(path, 'r'), lineBytesMax, blockBytes)) {
    blocks.push(block.toString('latin1'));
  }
  return blocks;
}

test('blocks are the file, and each but the last ends with a line', () => {
  const lines = fc.array(fc.stringMatching(/^[a-z]{0,40}$/));
  fc.assert(
    fc.property(lines, fc.boolean(), fc.integer({ min: 1, max: 64 }), (all, ends, blockBytes) => {
      const text = all.join('\n') + (ends ? '\n' : '');
      const blocks = blocksOf(text, 1_000, blockBytes);
      expect(blocks.join('')).toBe(text);
      for (const block of blocks.slice(0, -1)) expect(block.endsWith('\n')).toBe(true);
    }),
  );
});

test('a file without line breaks does not fill the memory', () => {
  const blocks = blocksOf('x'.repeat(10_000), 1_000, 64);
  expect(Math.max(...blocks.map(({ length }) => length))).toBeLessThan(2_100);
  expect(blocks.join('')).toHaveLength(10_000);
});
