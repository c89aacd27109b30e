import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseTilePath, type TileLevel, tilePath } from './tile-paths.ts';

test('the examples of C2SP tlog-tiles have the paths given there', () => {
  expect(tilePath(0, 1234067)).toBe('tile/0/x001/x234/067');
  // A tree of size 70,000: 273 full tiles, then partial ones of width 112, 17 and 1.
  expect(tilePath(0, 272)).toBe('tile/0/272');
  expect(tilePath(0, 273, 112)).toBe('tile/0/273.p/112');
  expect(tilePath(1, 1, 17)).toBe('tile/1/001.p/17');
  expect(tilePath(2, 0, 1)).toBe('tile/2/000.p/1');
  expect(tilePath('entries', 273, 112)).toBe('tile/entries/273.p/112');
});

test('groups of three digits begin at 1,000 and reach the largest safe integer', () => {
  expect(tilePath(5, 999)).toBe('tile/5/999');
  expect(tilePath(5, 1_000)).toBe('tile/5/x001/000');
  expect(tilePath(63, 1_000_000)).toBe('tile/63/x001/x000/000');
  expect(tilePath(0, Number.MAX_SAFE_INTEGER)).toBe('tile/0/x009/x007/x199/x254/x740/991');
});

test('parsing gives back exactly the tile that was named', () => {
  const level = fc.oneof(fc.nat(63), fc.constant('entries' as const));
  const width = fc.integer({ min: 1, max: 256 });
  fc.assert(
    fc.property(level, fc.maxSafeNat(), width, (level: TileLevel, index, width) => {
      expect(parseTilePath(tilePath(level, index, width))).toEqual({ level, index, width });
    }),
  );
});

test('a second spelling of a tile, or none, is refused', () => {
  const indexes = [
    ...['', '1', '01', '0001', 'x000/001', 'x001/x234', 'x001/67', '001/067', 'X001/067'],
  ];
  const more = ['x009/x007/x199/x254/x740/992', 'x001/x009/x007/x199/x254/x740/991', '-01', '1e3'];
  const widths = ['000.p', '000.p/', '000.p/0', '000.p/256', '000.p/01', '000.p/1/', '000.p/1.p/1'];
  for (const end of [...indexes, ...more, ...widths, '000 ', '000\n', '٠٠٠']) {
    expect([end, parseTilePath(`tile/0/${end}`)]).toEqual([end, null]);
  }
  for (const path of [
    'tile/64/000',
    'tile/00/000',
    'tile/-1/000',
    'tile/entry/000',
    '/tile/0/000',
  ]) {
    expect([path, parseTilePath(path)]).toEqual([path, null]);
  }
});

test('a tile without a path is a RangeError', () => {
  const calls: [TileLevel, number, number][] = [
    ...[-1, 64, 0.5].map((level): [TileLevel, number, number] => [level, 0, 1]),
    ...[-1, 0.5, 2 ** 53].map((index): [TileLevel, number, number] => [0, index, 1]),
    ...[0, 257, 1.5].map((width): [TileLevel, number, number] => ['entries', 0, width]),
  ];
  for (const call of calls) expect(() => tilePath(...call)).toThrow(RangeError);
});
