import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import type { Language } from '../preferences.ts';
import { en, type Texts } from './en.ts';

const TextsContext = createContext<{ texts: Texts; language: Language }>({
  texts: en,
  language: 'en',
});

// English is at hand from the start; the others are fetched when they are spoken.
const load: Record<Language, () => Promise<Texts>> = {
  en: async () => en,
  es: async () => (await import('./es.ts')).es,
  'pt-BR': async () => (await import('./pt-br.ts')).ptBR,
};

/** Speaks `language`; while its words are on their way, what was spoken before. */
export function SpeakingProvider({
  language,
  children,
}: {
  language: Language;
  children: ReactNode;
}) {
  const [spoken, setSpoken] = useState<{ texts: Texts; language: Language } | null>(
    language === 'en' ? { texts: en, language } : null,
  );
  useEffect(() => {
    let wanted = true;
    load[language]().then((texts) => wanted && setSpoken({ texts, language }));
    document.documentElement.lang = language;
    return () => {
      wanted = false;
    };
  }, [language]);
  return spoken && <TextsContext value={spoken}>{children}</TextsContext>;
}

export function useTexts(): Texts {
  return useContext(TextsContext).texts;
}

export function useLanguage(): Language {
  return useContext(TextsContext).language;
}

/** What a word of the catalogue is called; others are shown as they are, without underscores. */
export function wordOf(words: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(words, word) ? (words[word] ?? word) : word.replaceAll('_', ' ');
}
