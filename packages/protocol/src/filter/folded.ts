// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
export const ascii = /^[\x00-\x7f]*$/;

/** Accents, and what is not seen in a word (UAX #29): soft hyphens, joiners, the Arabic tatweel. */
const ignored = /(?!\u200b)[\p{M}\p{Cf}\u0640]/gu;

/** The text without case, accents and compatibility forms: `Straße` and `STRASSE` are equal. */
export function folded(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  const plain = text.normalize('NFKD').replace(ignored, '');
  // Upper case unites ß with ss, but not a capital ẞ. Lower case writes a final Σ in another way.
  return plain.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFKD');
}
