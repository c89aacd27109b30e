import fc from 'fast-check';
import { expect } from 'vitest';
import { FormatError } from '../log/bytes.ts';
import { anyCharacter } from './any-character.ts';

/* Ways to break what is read, for tests of parsers and verdicts. */

/** Every copy of `bytes` with one byte changed, in a few ways each. */
export function* withOneByteChanged(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1) {
    // A bit, the bit that changes case, and the bit that leaves ASCII.
    for (const bit of [0x01, 0x20, 0x80]) {
      const changed = new Uint8Array(bytes);
      changed[at] = (bytes[at] ?? 0) ^ bit;
      yield changed;
    }
  }
}

/** `bytes` with pieces cut out, doubled, overwritten or put in. */
export function tamperedWith(bytes: Uint8Array): fc.Arbitrary<Uint8Array> {
  const offset = fc.nat(bytes.length);
  const change = fc.tuple(offset, fc.nat(40), fc.uint8Array({ maxLength: 12 }), fc.boolean());
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    let list = [...bytes];
    for (const [start, count, inserted, keeps] of changes) {
      const piece = list.slice(start, start + count);
      list = list.toSpliced(start, keeps ? 0 : count, ...(keeps ? piece : inserted));
    }
    return Uint8Array.from(list);
  });
}

/** Text of all kinds, bytes, and damaged copies of something that would be accepted. */
export function anyInput(valid: string): fc.Arbitrary<string | Uint8Array> {
  const damaged = tamperedWith(new TextEncoder().encode(valid));
  return fc.oneof(
    damaged,
    damaged.map((bytes) => Buffer.from(bytes).toString()),
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.json(),
  );
}

/** Runs `parse`, which may only ever throw a FormatError; says what it returned, or null. */
export function parsedOrRefused<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return null;
  }
}
