import { ascii, folded } from './folded.ts';

/**
 * Words of texts, for the filter `q`. The index, the matching of webhooks and the reading of a
 * query use the same rules, so they agree on every event.
 */

/** The longest word in UTF-16 units. A longer one is cut, in events and in queries. */
export const wordCharactersMax = 64;
/** In one query. */
export const queryWordsMax = 20;
export const queryCharactersMax = 1_000;
/** A shorter word of a query must be a whole word of the event. */
export const prefixCharactersMin = 3;

// An IP address is one word. None begins within colons: looking ahead from each of many would take
// quadratic time. None ends there: `:::eg` would have the word `::`, which a query cannot have.
const ipv6 = '(?<!:)(?=:*[0-9a-f])[0-9a-f]*:(?:[0-9a-f]*:)+[0-9a-f]*(?!:)';
const ipv4 = '(?<![0-9]\\.)[0-9]{1,3}(?:\\.[0-9]{1,3}){3}(?!\\.[0-9])';
const asciiPattern = new RegExp(`(?<![0-9a-z])(?:${ipv6}|${ipv4})(?![0-9a-z])|[0-9a-z]+`, 'g');
// In scripts without spaces each character is a word.
const unspaced = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
const letter = '[\\p{L}\\p{N}]';
const wordPattern = new RegExp(
  `(?<!${letter})(?:${ipv6}|${ipv4})(?!${letter})|${unspaced}|(?:(?!${unspaced})${letter})+`,
  'gu',
);
// Groups of digits as telephone numbers have them.
const digitGroups = new RegExp(
  `(?<!${letter})[0-9]{1,8}(?:[ .()/-]{1,2}[0-9]{1,8})+(?!${letter})`,
  'gu',
);

/** The words of a query or text in their order, folded and cut; with repetitions. */
export function wordsOf(text: string): string[] {
  return wordsIn(folded(text));
}

/**
 * The words of a text of an event: those of `wordsOf`, so that a query with the same text has no
 * other; then the parts of addresses, and telephone numbers without their spaces.
 */
export function indexedWords(text: string): string[] {
  const plain = folded(text);
  const words = wordsIn(plain);
  const parts = words
    .filter((word) => /[.:]/.test(word))
    .flatMap((word) => word.split(/[.:]+/).filter((part) => part !== ''));
  return [...words, ...parts, ...joinedNumbers(plain)];
}

function wordsIn(plain: string): string[] {
  const words = plain.match(ascii.test(plain) ? asciiPattern : wordPattern) ?? [];
  return words.map((word) => (word.length > wordCharactersMax ? cut(word) : word));
}

const fourParts = new RegExp(`^${ipv4}$`);
const digitsMin = 7;
const digitsMax = 15; // of E.164

/** Numbers in groups, joined from each group on: `+34 900 123 456` is found by `900123456`. */
function joinedNumbers(plain: string): string[] {
  return (plain.match(digitGroups) ?? []).flatMap((run) => {
    const groups = run.match(/[0-9]+/g) ?? [];
    if (groups.length > digitsMax || groups.join('').length > digitsMax) return [];
    if (fourParts.test(run)) return [];
    const joined = groups.map((_, first) => groups.slice(first).join(''));
    return joined.filter((number) => number.length >= digitsMin);
  });
}

/** Whether a word of a query may begin a joined number, which is no part of the event's text. */
export const mayBeJoined = (word: string): boolean => /^[0-9]{3,15}$/.test(word);

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
