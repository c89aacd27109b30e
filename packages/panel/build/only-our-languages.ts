import type { Plugin } from 'vite';

const dictionary = /[\\/]intl[\\/].*[\\/]([a-z]{2}-[A-Z]{2})\.m?js$/;
const kept = ['en-US', 'es-ES', 'pt-BR'];

/** Leaves react-aria's texts out in the thirty-one languages that the panel does not speak. */
export function onlyOurLanguages(): Plugin {
  return {
    name: 'only-our-languages',
    enforce: 'pre',
    load(id) {
      const [, locale] = dictionary.exec(id) ?? [];
      return locale === undefined || kept.includes(locale) ? null : 'export default {};';
    },
  };
}
