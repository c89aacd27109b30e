import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { FindingError, UsageError } from '../io.ts';
import { openSource, unpacked } from './source.ts';

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function textOf(bytes: Buffer, size = bytes.length || 1): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of unpacked(inPieces(bytes, size))) parts.push(part);
  return Buffer.concat(parts).toString();
}

const text = '{"a":1}\n'.repeat(50_000);

test('plain and gzip data are told apart by their first bytes, even one byte at a time', async () => {
  expect(await textOf(Buffer.from(text), 1_000)).toBe(text);
  expect(await textOf(gzipSync(text), 1)).toBe(text);
});

test('files of several gzip members, as log rotation makes them, are read to the end', async () => {
  expect(await textOf(Buffer.concat([gzipSync(text), gzipSync('end')]))).toBe(`${text}end`);
});

test('an empty source and one of a single byte are what they are', async () => {
  expect(await textOf(Buffer.alloc(0))).toBe('');
  expect(await textOf(Buffer.from('\x1f'))).toBe('\x1f');
});

test('gzip data that ends too early or is damaged is a finding, not a crash', async () => {
  const packed = gzipSync(text);
  const damaged = Buffer.from(packed);
  damaged.fill(0xff, 20, 60);
  await expect(textOf(packed.subarray(0, -20))).rejects.toThrow(FindingError);
  await expect(textOf(damaged)).rejects.toThrow(FindingError);
});

test('a file that is missing or is a folder is wrong usage', async () => {
  const { signal } = new AbortController();
  await expect(openSource('/nowhere/at-all.ndjson', signal)).rejects.toThrow(UsageError);
  await expect(openSource(import.meta.dirname, signal)).rejects.toThrow(UsageError);
});
