import fc from 'fast-check';

const surrogates = { from: 0xd800, count: 0x800 };

/**
 * Any code point but the surrogates, as fast-check's unit `binary`, which first makes a table of a
 * million texts and keeps it: half a second in every worker, and 80 MB at each collection.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: 0x10ffff - surrogates.count }).map(
  (number) => String.fromCodePoint(number < surrogates.from ? number : number + surrogates.count),
  (text) => {
    const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
    if (point < 0 || String.fromCodePoint(point) !== text || !text.isWellFormed())
      throw new Error('not one character');
    return point < surrogates.from ? point : point - surrogates.count;
  },
);
