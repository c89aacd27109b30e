import { IndelibleError, type WebhookFormat } from '@indelible/client';
import { useWebhookTexts } from '../../i18n/webhook-texts.ts';
import { fieldOf, problemText } from './problem-text.ts';

/** What the service finds wrong with an endpoint, by field. */
export interface Problems {
  of(field: string): string | undefined;
  /** Whether the error is about something that the form does not ask for. */
  isElsewhere: boolean;
}

/** `format` is that of what was sent. */
export function useProblems(error: unknown, format: WebhookFormat): Problems {
  const w = useWebhookTexts();
  const errors = error instanceof IndelibleError ? error.errors : [];
  return {
    isElsewhere: errors.every((each) => fieldOf(each) === null),
    of(field) {
      const found = errors.find((each) => fieldOf(each) === field);
      return found && problemText(w, format, found);
    },
  };
}
