/**
 * The form of a word that goes with `n` things, by the grammar of `language`. Numbers are written
 * out in both forms, because not every language keeps `one` for 1 alone.
 */
export function pluralIn(language: string): (n: number, one: string, other: string) => string {
  const rules = new Intl.PluralRules(language);
  return (n, one, other) => (rules.select(n) === 'one' ? one : other);
}
