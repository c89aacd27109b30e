import { en, type MailTexts } from './mail-texts/en.ts';
import { es } from './mail-texts/es.ts';
import { ptBR } from './mail-texts/pt-br.ts';

/** The languages of mail, and so of tenants: a new one is a file of texts and a line here. */
export const mailTexts = { en, es, 'pt-BR': ptBR };

export type { MailTexts };

export type Locale = keyof typeof mailTexts;

export const locales = Object.keys(mailTexts) as Locale[];
