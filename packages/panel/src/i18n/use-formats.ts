import { useMemo } from 'react';
import { usePreferences } from '../preferences.ts';
import { type ZoneChoice, zoneChoices } from '../search/event-search.ts';
import { useSession } from '../session/session-context.tsx';
import { useSearchPairs } from '../use-location.ts';
import { createFormats, type Formats } from './formats.ts';
import { useLanguage } from './texts.tsx';

/** The time zone: the address decides, else the reader's preference. */
export function useZoneChoice(): ZoneChoice {
  const { zone } = usePreferences();
  const named = useSearchPairs().find(([name]) => name === 'zone')?.[1];
  return zoneChoices.find((choice) => choice === named) ?? zone;
}

export function zoneName(choice: ZoneChoice, tenantZone: string): string {
  if (choice === 'utc') return 'UTC';
  return choice === 'tenant' ? tenantZone : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Formats in the reader's language and the zone of this page. */
export function useFormats(): Formats {
  const language = useLanguage();
  const { tenant } = useSession();
  const timeZone = zoneName(useZoneChoice(), tenant.timeZone);
  return useMemo(() => createFormats(language, timeZone), [language, timeZone]);
}
