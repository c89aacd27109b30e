import type { Locale } from '@indelible/protocol';
import { en, type Texts } from './en.ts';

/**
 * The panel's languages. A new one is a dictionary and a line here. English is in the first load;
 * others are loaded on demand.
 */
export const languages = {
  en: { name: 'English', load: async () => en },
  es: { name: 'Español', load: async () => (await import('./es.ts')).es },
  'pt-BR': { name: 'Português', load: async () => (await import('./pt-br.ts')).ptBR },
} satisfies Record<Locale, { name: string; load: () => Promise<Texts> }>;

export type Language = keyof typeof languages;

export const languageCodes = Object.keys(languages) as Language[];

/** The language of a tag such as `pt-BR`, without its region. */
const baseOf = (tag: string) => tag.split('-', 1)[0];

/** The chosen language, else the first preferred one that the panel has, else English. */
export function languageFor(chosen: Language | null, wishes: readonly string[]): Language {
  if (chosen !== null) return chosen;
  for (const wish of wishes.map((each) => each.toLowerCase())) {
    const found =
      languageCodes.find((code) => code.toLowerCase() === wish) ??
      languageCodes.find((code) => baseOf(code) === baseOf(wish));
    if (found !== undefined) return found;
  }
  return 'en';
}
