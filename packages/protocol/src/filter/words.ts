import { ascii, folded } from './folded.ts';

/**
 * Words of texts, for the filter `q`. The index, the matching of webhooks and the reading of a
 * query use the same rules, so they agree on every event.
 */

/** Of UTF-16. A longer word is cut, in events and in queries. */
export const wordCharactersMax = 64;
/** In one query. */
export const queryWordsMax = 20;
export const queryCharactersMax = 1_000;
/** A shorter word of a query must be a whole word of the event. */
export const prefixCharactersMin = 3;

// Numbers keep their dots and hexadecimal groups their colons: an IP address is one word. None
// begins within colons: looking ahead from each of many would take quadratic time. None ends there:
// `:::eg` would have the word `::`, which a query cannot have.
const ipv6 = '(?<!:)(?=:*[0-9a-f])[0-9a-f]*:(?:[0-9a-f]*:)+[0-9a-f]*(?!:)';
const numbers = '[0-9]+(?:\\.[0-9]+)+';
const asciiPattern = new RegExp(`(?<![0-9a-z])(?:${ipv6}|${numbers})(?![0-9a-z])|[0-9a-z]+`, 'g');
// In scripts without spaces each character is a word.
const unspaced = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
const letter = '[\\p{L}\\p{N}]';
const wordPattern = new RegExp(
  `(?<!${letter})(?:${ipv6}|${numbers})(?!${letter})|${unspaced}|(?:(?!${unspaced})${letter})+`,
  'gu',
);

/** The words of a text in their order, folded and cut; with repetitions. */
export function wordsOf(text: string): string[] {
  const plain = folded(text);
  const words = plain.match(ascii.test(plain) ? asciiPattern : wordPattern) ?? [];
  return words.map((word) => (word.length > wordCharactersMax ? cut(word) : word));
}

/** Never within a character: half of one is no UTF-8, and an erasure would not find it again. */
function cut(word: string): string {
  const isHalf = (word.codePointAt(wordCharactersMax - 1) ?? 0) > 0xffff;
  return word.slice(0, isHalf ? wordCharactersMax - 1 : wordCharactersMax);
}

/** Whether `word` of a query stands for this word of an event: a prefix, or the whole if short. */
export function wordMatches(word: string, ofEvent: string): boolean {
  return word.length < prefixCharactersMin ? word === ofEvent : ofEvent.startsWith(word);
}

/**
 * Whether every word of a query is one of these words, or begins one. They are sorted, because an
 * event may have 120,000 of them, and a filter 400.
 */
export function matchesWords(
  sorted: readonly (string | null)[],
  query: string,
  wordsOfQuery = wordsOf,
): boolean {
  return wordsOfQuery(query).every((word) => wordMatches(word, firstFrom(sorted, word)));
}

/** The first of sorted words that is not lower, which begins with `word` if any does; or ''. */
function firstFrom(sorted: readonly (string | null)[], word: string): string {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') < word) low = middle + 1;
    else high = middle;
  }
  return sorted[low] ?? '';
}
