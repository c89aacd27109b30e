/** The language of a tag such as `pt-BR`, without its region. */
const baseOf = (tag: string) => tag.split('-', 1)[0];

/** The first preferred one of these languages, else English. */
export function bestLanguage<Code extends string>(
  codes: readonly Code[],
  wishes: readonly string[],
): Code | 'en' {
  for (const wish of wishes.map((each) => each.toLowerCase())) {
    const found =
      codes.find((code) => code.toLowerCase() === wish) ??
      codes.find((code) => baseOf(code) === baseOf(wish));
    if (found !== undefined) return found;
  }
  return 'en';
}
