import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { fileDigest, parseSumLine, sumLine } from './checksums.ts';

test('the digest of a file is that of its bytes, small or large', () => {
  const folder = newFolder();
  for (const size of [0, 1, 1 << 20, (1 << 20) + 1, 3_000_000]) {
    const bytes = Buffer.alloc(size, 5);
    writeFileSync(join(folder, 'file'), bytes);
    const digest = createHash('sha256').update(bytes).digest('hex');
    expect(fileDigest(join(folder, 'file'))).toBe(digest);
  }
});

test('a line of SHA256SUMS leads nowhere outside its folder', () => {
  const digest = 'a'.repeat(64);
  const path = 'tile/entries/x001/234.p/5';
  expect(parseSumLine(sumLine(digest, path))).toEqual({ digest, path });
  for (const other of [
    ...['../x', '/etc/passwd', 'a/../b', './a', 'a//b', 'a/', '', 'a b', 'a\n', '..'],
  ]) {
    expect(parseSumLine(sumLine(digest, other)), other).toBeNull();
  }
  for (const line of [`${digest} a`, `${digest.slice(1)}  a`, `${digest.toUpperCase()}  a`]) {
    expect(parseSumLine(line), line).toBeNull();
  }
});
