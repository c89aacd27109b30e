import type { Locale } from '@indelible/protocol';
import { languages } from '../../../../locales/languages.ts';
import { bestLanguage } from './best-language.ts';

export { languages };

export const languageCodes = Object.keys(languages) as Locale[];

/** The chosen language, else the first preferred one that the panel has, else English. */
export function languageFor(chosen: Locale | null, wishes: readonly string[]): Locale {
  return chosen ?? bestLanguage(languageCodes, wishes);
}
