// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
export const ascii = /^[\x00-\x7f]*$/;

/** Accents, and what is not seen in a word (UAX #29): soft hyphens, joiners, the Arabic tatweel. */
const ignored = /(?!\u200b)[\p{M}\p{Cf}\u0640]/gu;

/** Letters with a stroke and ligatures, which Unicode does not decompose. */
const plainLetters = new Map(
  Object.entries({ ł: 'l', ø: 'o', đ: 'd', ð: 'd', ħ: 'h', ŧ: 't', æ: 'ae', œ: 'oe', þ: 'th' }),
);
const undecomposed = /[łøđðħŧæœþ]/g;

/** The text without case, accents and compatibility forms: `Straße` and `STRASSE` are equal, as
 * are `Łódź` and `lodz`. */
export function folded(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  const plain = text.normalize('NFKD').replace(ignored, '');
  // Upper case unites ß with ss, but not a capital ẞ. Lower case writes a final Σ in another way.
  const lower = plain.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  return lower
    .replace(undecomposed, (letter) => plainLetters.get(letter) ?? letter)
    .normalize('NFKD');
}
