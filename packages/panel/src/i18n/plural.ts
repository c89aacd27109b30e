/**
 * The plural form for `n` things in `language`. Both forms contain the number, because not every
 * language uses `one` only for 1.
 */
export function pluralIn(language: string): (n: number, one: string, other: string) => string {
  const rules = new Intl.PluralRules(language);
  return (n, one, other) => (rules.select(n) === 'one' ? one : other);
}
