import { type Locale, revealed } from '@indelible/protocol';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import en from '../../../../locales/en.json' with { type: 'json' };
import { languages } from '../../../../locales/languages.ts';
import { type Texts as AllTexts, textsIn } from '../../../../locales/texts.ts';
import { usePreferences } from '../preferences.ts';
import { type ZoneChoice, zoneChoices } from '../search/event-search.ts';
import { useSession } from '../session/session-context.tsx';
import { useSearchPairs } from '../use-location.ts';
import { type Formats, formatsOf } from './formats.ts';

export type Texts = AllTexts['panel'];

interface Spoken {
  language: Locale;
  texts: Texts;
}

const english: Spoken = { language: 'en', texts: textsIn('en', en).panel };

const TextsContext = createContext(english);

/** Shows texts in `language`; until its dictionary is loaded, in the previous language. */
export function TextsProvider(props: { language: Locale; children: ReactNode }) {
  const { language, children } = props;
  const [loaded, setLoaded] = useState(language === 'en' ? english : null);
  useEffect(() => {
    let isWanted = true;
    languages[language].load().then((dictionary) => {
      if (isWanted) setLoaded({ language, texts: textsIn(language, dictionary).panel });
    });
    document.documentElement.lang = language;
    return () => {
      isWanted = false;
    };
  }, [language]);
  return loaded && <TextsContext value={loaded}>{children}</TextsContext>;
}

export function useTexts(): Texts {
  return useContext(TextsContext).texts;
}

export function useLanguage(): Locale {
  return useContext(TextsContext).language;
}

/** The text of a name, which may come from a request and be `constructor` or the like. */
export function textOf(texts: object, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? String(Reflect.get(texts, name)) : undefined;
}

/** The name of a catalogue word; an unknown word is shown as a word of a text. */
export function wordOf(words: Readonly<Record<string, string>>, word: string): string {
  const spoken = revealed(word.replaceAll('_', ' '));
  return textOf(words, word) ?? spoken.charAt(0).toUpperCase() + spoken.slice(1);
}

/**
 * The text of a role: translated if the service itself gives it, else as it was recorded, because
 * `Operator` or `Super Admin` of a host product must not read like the operator team.
 */
export function roleText(roles: Readonly<Record<string, string>>, role: string): string {
  return textOf(roles, role) ?? revealed(role);
}

/** The time zone: the address decides, else the reader's preference. */
export function useZoneChoice(): ZoneChoice {
  const { zone } = usePreferences();
  const named = useSearchPairs().find(([name]) => name === 'zone')?.[1];
  return zoneChoices.find((choice) => choice === named) ?? zone;
}

export function zoneName(choice: ZoneChoice, tenantZone: string): string {
  if (choice === 'utc') return 'UTC';
  return choice === 'tenant' ? tenantZone : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Formats in the reader's language and the zone of this page. */
export function useFormats(): Formats {
  const language = useLanguage();
  const { tenant } = useSession();
  const timeZone = zoneName(useZoneChoice(), tenant.timeZone);
  return formatsOf(language, timeZone);
}

/** What a page writes with: texts and formats of its reader. */
export function useReader(): { t: Texts; formats: Formats } {
  return { t: useTexts(), formats: useFormats() };
}
