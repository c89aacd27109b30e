import type { Locale } from '@indelible/protocol';
import { languages } from '../../../../locales/languages.ts';

export { languages };

export const languageCodes = Object.keys(languages) as Locale[];

/** The language of a tag such as `pt-BR`, without its region. */
const baseOf = (tag: string) => tag.split('-', 1)[0];

/** The chosen language, else the first preferred one that the panel has, else English. */
export function languageFor(chosen: Locale | null, wishes: readonly string[]): Locale {
  if (chosen !== null) return chosen;
  for (const wish of wishes.map((each) => each.toLowerCase())) {
    const found =
      languageCodes.find((code) => code.toLowerCase() === wish) ??
      languageCodes.find((code) => baseOf(code) === baseOf(wish));
    if (found !== undefined) return found;
  }
  return 'en';
}
