import { wordMatches, wordsOf } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { offsetsOf } from './bits.ts';
import {
  largeEntries,
  listsOf,
  makeBlock,
  mediumEntries,
  rankOf,
  rewritten,
  smallEntries,
  uniteIds,
  uniteLists,
  uuidAt,
  type WordBlock,
  type WordedEvent,
} from './word-block.ts';
import { decodeLists, encodeLists, eventsWith, listOf } from './word-lists.ts';

const word = fc
  .oneof(fc.stringMatching(/^[abc]{1,4}$/), fc.stringMatching(/^(menu|éß|日本)[a-z0-9]{0,3}$/))
  .map((text) => wordsOf(text)[0] ?? 'x');
const events: fc.Arbitrary<WordedEvent[]> = fc.uniqueArray(
  fc.record({
    uuid: fc.uuid(),
    words: fc.array(word, { maxLength: 6 }).map((all) => new Set(all)),
  }),
  { maxLength: 40, selector: ({ uuid }) => uuid },
);

async function blockOf(all: readonly WordedEvent[], first = 0, entries = smallEntries) {
  const block = await makeBlock(first, entries, all, async () => {});
  if (typeof block === 'number') throw new Error('the events are too large');
  return block;
}

/** The ids of the events with a word, as a search finds them in a block. */
function foundIn({ ids, entries, lists }: WordBlock, query: string): string[] {
  const own = lists.find(({ list }) => list === listOf(query, listsOf(entries)));
  const found = own && eventsWith(own.words, entries, query);
  return found ? offsetsOf(found).map((at) => uuidAt(ids, at)) : [];
}

const naive = (all: readonly WordedEvent[], query: string) =>
  all
    .filter(({ words }) => [...words].some((each) => wordMatches(query, each)))
    .map(({ uuid }) => uuid)
    .sort();

test('a block finds exactly the events that have a word or its beginning', async () => {
  await fc.assert(
    fc.asyncProperty(events, word, async (all, query) => {
      for (const entries of [all.length, smallEntries, mediumEntries]) {
        const block = await blockOf(all, 0, entries);
        expect(foundIn(block, query)).toEqual(naive(all, query));
      }
    }),
  );
});

test('blocks that were united find what each of them found', async () => {
  await fc.assert(
    fc.asyncProperty(events, fc.integer({ min: 1, max: 4 }), word, async (all, count, query) => {
      const parts: WordBlock[] = [];
      for (let part = 0; part < count; part++) {
        const own = all.filter((_, at) => at % count === part);
        parts.push(await blockOf(own, part * smallEntries, part === 0 ? own.length : undefined));
      }
      const { ids, moved } = uniteIds(parts.map((part) => part.ids));
      const lists = Array.from({ length: listsOf(smallEntries) }, (_, list) =>
        uniteLists(
          parts.flatMap((part, at) =>
            part.lists
              .filter((each) => each.list === list)
              .map(({ words }) => ({
                words,
                entries: part.entries,
                moved: moved[at] ?? new Uint32Array(),
              })),
          ),
          mediumEntries,
        ),
      ).flat();
      const united = { first: 0, entries: mediumEntries, ids, lists };
      expect(new Set(lists.map(({ list }) => list)).size).toBe(lists.length);
      expect(foundIn(united, query)).toEqual(naive(all, query));
    }),
  );
});

test('exactly the named words of the named events go from a list', async () => {
  await fc.assert(
    fc.asyncProperty(events, fc.nat(3), async (all, rest) => {
      const { ids, lists } = await blockOf(all);
      for (const { words } of lists) {
        const left = rewritten(words, smallEntries, (_, offset) => offset % 4 === rest);
        const expected = [...decodeLists(words, smallEntries)]
          .map(
            ([each, offsets]) => [each, offsets.filter((offset) => offset % 4 !== rest)] as const,
          )
          .filter(([, offsets]) => offsets.length > 0);
        expect(left === null ? [] : [...decodeLists(left, smallEntries)]).toEqual(expected);
      }
      for (const { uuid } of all) expect(uuidAt(ids, rankOf(ids, uuid))).toBe(uuid);
    }),
  );
});

test('a word of many events takes at most a bit for each entry', () => {
  for (const step of [1, 2, 7, 8, 9]) {
    const offsets = Array.from({ length: largeEntries / step - 1 }, (_, at) => step * at);
    const lists = new Map([
      ['menu', offsets.slice(1)],
      ['menus', [0, 3]],
    ]);
    const words = encodeLists(lists, largeEntries);
    expect(words.length).toBeLessThan(largeEntries / 8 + 30);
    expect([...decodeLists(words, largeEntries)]).toEqual([...lists]);
    const found = eventsWith(words, largeEntries, 'menu');
    expect(found && offsetsOf(found)).toEqual(
      [...new Set([0, 3, ...offsets])].sort((a, b) => a - b),
    );
  }
});

test('a damaged list is an error, not a missing word', () => {
  const all = Array.from({ length: 250 }, (_, offset) => offset);
  const words = encodeLists(
    new Map([
      ['menu', [1, 200]],
      ['nord', all],
    ]),
    smallEntries,
  );
  const first = encodeLists(new Map([['menu', [1, 200]]]), smallEntries).length;
  for (let end = 1; end < words.length; end++) {
    if (end === first) continue;
    expect(() => [...decodeLists(words.subarray(0, end), smallEntries)]).toThrow('damaged');
  }
});
