import fc from 'fast-check';
import { expect, test } from 'vitest';
import { folded } from './folded.ts';
import { indexedWords, matchesWords, wordCharactersMax, wordMatches, wordsOf } from './words.ts';

test.each([
  ['Main menu', 'main menu'],
  ['Ávila, STRASSE/Straße/STRAẞE', 'avila strasse strasse strasse'],
  ['ΟΔΟΣ οδός', 'οδοσ οδοσ'],
  ['İstanbul ısı', 'istanbul isi'],
  ['ana.silva@example.com', 'ana silva example com'],
  ['10.1.2.3, 2001:db8::1 and ::1', '10.1.2.3 2001:db8::1 and ::1'],
  ['data::bar at 10:30', 'data bar at 10 30'],
  [':::eΣ', 'eσ'],
  ['a:b:::eg', 'a b eg'],
  ['JIRA-12345 v1.2.3', 'jira 12345 v1 2 3'],
  ['20.11.2026 1.234,50', '20 11 2026 1 234 50'],
  ['Łódź, Đà Nẵng, smørrebrød, Ægir, œuvre, Þór', 'lodz da nang smorrebrod aegir oeuvre thor'],
  ['会议室 Queue', '会 议 室 queue'],
  ['Привет, мир', 'привет мир'],
  ['ﬁle ①', 'file 1'],
  ['re\u00admo\u200dved \u202emenu, محـمد, one\u200btwo', 'removed menu محمد one two'],
  ['…!?', ''],
])('%s has the words %s', (text, words) => {
  expect(wordsOf(text).join(' ')).toBe(words);
});

test.each([
  ['Rechnung vom 20.11.2026', ['2026', '11.2026', '20.11.2026']],
  ['release v1.2.3 and 1.2.3.4.5', ['v1.2', 'v1.2.3', '1.2.3.4.5']],
  ['1.234,50 EUR', ['234', '1.234', '1.234,50']],
  ['+34 900 123 456', ['900123456', '34900123456', '9001', '900 123', '+34 900 123 456']],
  ['(030) 1234-567', ['0301234567', '1234567']],
  ['from 10.1.2.3 at 10:30:00', ['10.1.2.3', '10.1.2', '10:30']],
  ['2001:db8::1', ['2001:db8::1', '2001:db8', 'db8']],
])('%s is found by %j', (text, queries) => {
  const words = indexedWords(text).sort();
  for (const query of queries) expect([query, matchesWords(words, query)]).toEqual([query, true]);
});

test('an address is found as a whole only by itself, and numbers in a long list are not joined', () => {
  expect(matchesWords(indexedWords('3.2.1.10').sort(), '10.1.2.3')).toBe(false);
  expect(matchesWords(indexedWords('1111 2222 3333 4444').sort(), '11112222')).toBe(false);
});

test('short words are found whole, longer ones also by their beginning', () => {
  const words = wordsOf('Greeting of the main menu in AB1').sort();
  for (const query of ['gre', 'GREETING', 'men mai', 'in', 'ab1']) {
    expect(matchesWords(words, query)).toBe(true);
  }
  for (const query of ['gr', 'reeting', 'menus', 'main dish', 'ab']) {
    expect(matchesWords(words, query)).toBe(false);
  }
});

const someText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.stringMatching(/^[ -~]{0,40}$/),
  fc.stringMatching(/^[0-9a-fA-F:. éßΣИ]{0,20}$/),
);

test('folding twice, or another case or normal form, changes no word', () => {
  fc.assert(
    fc.property(someText, (text) => {
      const words = wordsOf(text);
      expect(wordsOf(folded(text))).toEqual(words);
      expect(wordsOf(text.normalize('NFC'))).toEqual(words);
      expect(wordsOf(text.normalize('NFD'))).toEqual(words);
      expect(wordsOf(words.join(' '))).toEqual(words);
    }),
  );
});

/** The rule again, without regular expressions for words. */
function plainMatch(text: string, query: string): boolean {
  const words = [...new Set(indexedWords(text))];
  return wordsOf(query).every((wanted) =>
    words.some((word) =>
      [...wanted].length < 3 && wanted.length < 3
        ? word === wanted
        : word.slice(0, wanted.length) === wanted,
    ),
  );
}

test('a text matches a query exactly if each word is there or begins one', () => {
  fc.assert(
    fc.property(someText, someText, fc.nat(8), (text, other, cut) => {
      const words = indexedWords(text).sort();
      const parts = wordsOf(text).map((word) => word.slice(0, 3 + cut));
      for (const query of [text, other, parts.join(' '), `${parts[0] ?? ''} ${other}`]) {
        expect(matchesWords(words, query)).toBe(plainMatch(text, query));
      }
      expect(matchesWords(words, text)).toBe(true);
    }),
  );
});

test('a query reads few of the 120,000 words that an event may have', () => {
  let reads = 0;
  const words = Array.from({ length: 120_000 }, (_, n) => (46_656 + n).toString(36)).sort();
  const counted = new Proxy(words, {
    get: (target, key) => {
      reads += 1;
      return Reflect.get(target, key);
    },
  });
  expect(matchesWords(counted, `${words.slice(-19).join(' ')} none`)).toBe(false);
  expect(reads).toBeLessThan(20 * 20);
});

test('the words of a very long text of colons or groups are found in linear time', () => {
  const processorMs = (text: string) => {
    const before = process.cpuUsage();
    indexedWords(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  for (const part of [':', 'a:', '1.', '12 ', '1 (', ': :', ':a', 'é:']) {
    expect(processorMs(part.repeat(60_000))).toBeLessThan(1_000);
  }
});

test('very long words are cut in events and queries alike', () => {
  const long = 'x'.repeat(wordCharactersMax + 10);
  expect(wordsOf(long)).toEqual([long.slice(0, wordCharactersMax)]);
  expect(matchesWords(wordsOf(long), `${long}y`)).toBe(true);
  expect(wordMatches('xx', 'xxx')).toBe(false);
  const half = `${'x'.repeat(wordCharactersMax - 1)}𐐨`;
  expect(wordsOf(half)).toEqual([half.slice(0, wordCharactersMax - 1)]);
});
