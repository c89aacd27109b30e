import type { Locale } from '@indelible/protocol';
import en from './en.json' with { type: 'json' };
import type { Dictionary } from './texts.ts';

const json = { with: { type: 'json' } } as const;

/**
 * The languages of panel and mail: a new one is a dictionary and a line here. A browser gets
 * English, which is shown until another dictionary is loaded, with the panel.
 */
export const languages: Record<Locale, { name: string; load: () => Promise<Dictionary> }> = {
  de: { name: 'Deutsch', load: async () => (await import('./de.json', json)).default },
  en: { name: 'English', load: async () => en },
  es: { name: 'Español', load: async () => (await import('./es.json', json)).default },
  'pt-BR': { name: 'Português', load: async () => (await import('./pt-BR.json', json)).default },
};
