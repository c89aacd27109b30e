import { entryBytes } from '@indelible/protocol';
import { expect, onTestFinished, test } from 'vitest';
import { EntryFile } from './entry-file.ts';

/** An entry that says its own sequence. */
function entry(sequence: number): Uint8Array {
  const bytes = new Uint8Array(entryBytes).fill(7);
  new DataView(bytes.buffer).setUint32(0, sequence);
  return bytes;
}

test('every entry is found again, in any order and while more are added', () => {
  const file = new EntryFile();
  onTestFinished(() => file.close());
  const sizes = [1, 255, 256, 1_024, 1, 2_000];
  for (const size of sizes) {
    const first = file.size;
    const part = new Uint8Array(size * entryBytes);
    for (let at = 0; at < size; at += 1) part.set(entry(first + at), at * entryBytes);
    file.append(part);
    const last = file.size - 1;
    for (const sequence of [last, 0, first, Math.floor(last / 2), last]) {
      expect(Buffer.from(file.at(sequence)).equals(entry(sequence))).toBe(true);
    }
  }
  expect(file.size).toBe(sizes.reduce((sum, size) => sum + size));
});

test('the reader invents no body that was not kept', () => {
  const file = new EntryFile();
  onTestFinished(() => file.close());
  expect(() => file.at(0)).toThrow(RangeError);
  file.append(entry(0));
  for (const sequence of [1, -1, 0.5, Number.NaN])
    expect(() => file.at(sequence)).toThrow(RangeError);
});
