import { IndelibleError, type WebhookFormat } from '@indelible/client';
import { useTexts } from '../../i18n/texts.tsx';
import { fieldOf, problemText } from './problem-text.ts';

/** The problems of a webhook, by field. */
export type Problems = ReturnType<typeof useProblems>;

/** `format` is that of the sent input. */
export function useProblems(error: unknown, format: WebhookFormat) {
  const w = useTexts().webhooks;
  const errors = error instanceof IndelibleError ? error.errors : [];
  return {
    /** Whether a problem concerns no field of the form. */
    isElsewhere: errors.every((each) => fieldOf(each) === null),
    of(field: string) {
      const found = errors.find((each) => fieldOf(each) === field);
      return found && problemText(w, format, found);
    },
  };
}
