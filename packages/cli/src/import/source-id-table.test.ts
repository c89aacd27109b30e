import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SourceIdTable } from './source-id-table.ts';

const bytesOf = (text: string): Uint8Array => hash('sha256', text, 'buffer');

test('answers what a plain map would, whatever is noted in whatever order', () => {
  const notes = fc.array(fc.tuple(fc.nat(30), fc.nat(2)), { maxLength: 200 });
  fc.assert(
    fc.property(notes, (list) => {
      const table = new SourceIdTable();
      const first = new Map<number, { content: number; line: number }>();
      for (const [index, [id, content]] of list.entries()) {
        const line = index + 1;
        const known = first.get(id);
        if (known === undefined) first.set(id, { content, line });
        const expected = known && known.content !== content ? known.line : null;
        expect(table.note(bytesOf(`id ${id}`), bytesOf(`${content}`), line)).toBe(expected);
      }
    }),
  );
});

test('of 200,000 source ids each is remembered, in at most 53 bytes', () => {
  const table = new SourceIdTable();
  const count = 200_000;
  const [one, two] = [bytesOf('one'), bytesOf('two')];
  const wrong: number[] = [];
  for (let line = 1; line <= count; line++) {
    if (table.note(bytesOf(`id ${line}`), one, line) !== null) wrong.push(line);
  }
  expect(table.bytes).toBeLessThanOrEqual(54 * count);
  for (let line = 1; line <= count; line += 7) {
    if (table.note(bytesOf(`id ${line}`), two, count + line) !== line) wrong.push(line);
  }
  expect(wrong).toEqual([]);
});

test('keys that share half of their bits are kept apart', () => {
  const table = new SourceIdTable();
  const key = (high: number, low: number) => new Uint8Array([0, 0, 0, high, 0, 0, 0, low]);
  const [one, two] = [bytesOf('one'), bytesOf('two')];
  expect(table.note(key(1, 1), one, 1)).toBeNull();
  expect(table.note(key(2, 1), two, 2)).toBeNull();
  expect(table.note(key(1, 2), two, 3)).toBeNull();
  expect(table.note(key(2, 1), one, 4)).toBe(2);
});
