import type { Language } from '../preferences.ts';
import { useLanguage } from './texts.tsx';
import { type WebhookTexts, webhooksEn } from './webhooks-en.ts';
import { webhooksEs } from './webhooks-es.ts';
import { webhooksPtBr } from './webhooks-pt-br.ts';

export const webhookTexts: Readonly<Record<Language, WebhookTexts>> = {
  en: webhooksEn,
  es: webhooksEs,
  'pt-BR': webhooksPtBr,
};

/** The words of the pages about webhooks, in the language that is spoken. */
export function useWebhookTexts(): WebhookTexts {
  return webhookTexts[useLanguage()];
}
