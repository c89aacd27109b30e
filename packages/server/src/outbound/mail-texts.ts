import type { Locale } from '@indelible/protocol';
import { en, type MailTexts } from './mail-texts/en.ts';
import { es } from './mail-texts/es.ts';
import { ptBR } from './mail-texts/pt-br.ts';

/** The texts of mail in each language. */
export const mailTexts: Record<Locale, MailTexts> = { en, es, 'pt-BR': ptBR };

export type { MailTexts };
