import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FindingError } from '../io.ts';
import { SourceIdTable } from './source-id-table.ts';

const bytesOf = (text: string): Uint8Array => hash('sha256', text, 'buffer');

test('a source id with other content is told with the line of its first use', () => {
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

test('more source ids than the limit end the import with a sentence, and known ones do not', () => {
  const table = new SourceIdTable(2);
  const note = (id: string, line: number) => table.note(bytesOf(id), bytesOf('same'), line);
  expect([note('a', 1), note('b', 2), note('a', 3)]).toEqual([null, null, null]);
  expect(() => note('c', 4)).toThrow(FindingError);
});
