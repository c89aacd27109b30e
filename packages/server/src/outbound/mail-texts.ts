import { type Locale, locales } from '@indelible/protocol';
import { languages } from '../../../../locales/languages.ts';
import { type Texts, textsIn } from '../../../../locales/texts.ts';

export type MailTexts = Texts['mail'];

const loaded = locales.map(async (locale): Promise<[Locale, MailTexts]> => {
  return [locale, textsIn(locale, await languages[locale].load()).mail];
});

/**
 * The texts of mail in each language, to be inserted into HTML unescaped; only the name of a tenant
 * is escaped before.
 */
export const mailTexts = Object.fromEntries(await Promise.all(loaded)) as Record<Locale, MailTexts>;
