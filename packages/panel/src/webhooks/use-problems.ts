import { IndelibleError } from '@indelible/client';
import { useWebhookTexts } from '../i18n/webhook-texts.ts';

/** What the service finds wrong with an endpoint, by field. */
export interface Problems {
  of(path: string): string | undefined;
  /** Whether the error is about something else than a field. */
  isElsewhere: boolean;
}

export function useProblems(error: unknown): Problems {
  const w = useWebhookTexts();
  const errors = error instanceof IndelibleError ? error.errors : [];
  return {
    isElsewhere: errors.length === 0,
    of(path) {
      const found = errors.find((each) => each.path === path);
      if (found === undefined) return undefined;
      if (path === '/url' && found.code === 'invalid_format') return w.form.problems.url;
      if (path === '/credential' && found.code === 'required') return w.form.problems.credential;
      return found.message;
    },
  };
}
