import type { AlertRule } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useTexts } from '../../i18n/texts.tsx';

type Named = Pick<AlertRule, 'name' | 'builtIn'>;

/** A built-in rule in the reader's language, with why and what to do; others by their name. */
export function useRuleText({ name, builtIn }: Named): {
  name: string;
  why?: string;
  act?: string;
} {
  const { builtIn: known } = useTexts().alerts;
  const isKnown = builtIn !== null && Object.hasOwn(known, builtIn);
  return isKnown ? known[builtIn as keyof typeof known] : { name: revealed(name) };
}
