import { revealed } from '@indelible/protocol';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { en, type Texts } from './en.ts';
import { type Language, languages } from './languages.ts';

const TextsContext = createContext<{ texts: Texts; language: Language }>({
  texts: en,
  language: 'en',
});

/** Shows texts in `language`; until its dictionary is loaded, in the previous language. */
export function TextsProvider(props: { language: Language; children: ReactNode }) {
  const { language, children } = props;
  const [loaded, setLoaded] = useState<{ texts: Texts; language: Language } | null>(
    language === 'en' ? { texts: en, language } : null,
  );
  useEffect(() => {
    let isWanted = true;
    languages[language].load().then((texts) => isWanted && setLoaded({ texts, language }));
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

export function useLanguage(): Language {
  return useContext(TextsContext).language;
}

/** The name of a catalogue word; an unknown word is shown without its underscores. */
export function wordOf(words: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(words, word) ? (words[word] ?? word) : revealed(word.replaceAll('_', ' '));
}
