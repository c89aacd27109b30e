import type { Plugin } from 'vite';
import { languageCodes } from '../src/i18n/languages.ts';

const dictionary = /[\\/]intl[\\/].*[\\/]([a-z]{2}-[A-Z]{2})\.m?js$/;
/** `en` is served by `en-US`; `pt-BR` only by itself. */
const isOurs = (locale: string) =>
  languageCodes.some((code) => locale === code || locale.startsWith(`${code}-`));

/** Leaves out react-aria's texts in the languages that the panel does not have. */
export function onlyOurLanguages(): Plugin {
  return {
    name: 'only-our-languages',
    enforce: 'pre',
    load(id) {
      const [, locale] = dictionary.exec(id) ?? [];
      return locale === undefined || isOurs(locale) ? null : 'export default {};';
    },
  };
}
