import { Clock, Languages, SunMoon } from 'lucide-react';
import type { ReactNode } from 'react';
import { Select, type SelectProps } from '../components/fields.tsx';
import { languageCodes, languages } from '../i18n/languages.ts';
import { useLanguage, useTexts, useZoneChoice, zoneName } from '../i18n/texts.tsx';
import { prefer, usePreferences } from '../preferences.ts';
import { type ZoneChoice, zoneChoices } from '../search/event-search.ts';
import { useSession } from '../session/session-context.tsx';
import { useGo, usePath, useSearchPairs } from '../use-location.ts';

/** Zone, language and theme: native pickers, which work with every keyboard and screen reader. */
export function DisplaySettings() {
  const t = useTexts();
  const { theme } = usePreferences();
  const language = useLanguage();
  return (
    <div className="space-y-1">
      <ZonePicker />
      <Picker
        label={t.language}
        icon={<Languages />}
        value={language}
        options={languageCodes.map((value) => ({ value, text: languages[value].name }))}
        choose={(chosen) => prefer({ language: chosen })}
      />
      <Picker
        label={t.theme.label}
        icon={<SunMoon />}
        value={theme}
        options={(['system', 'light', 'dark'] as const).map((value) => ({
          value,
          text: t.theme[value],
        }))}
        choose={(chosen) => prefer({ theme: chosen })}
      />
    </div>
  );
}

function ZonePicker() {
  const t = useTexts();
  const { tenant } = useSession();
  const go = useGo();
  const path = usePath();
  const pairs = useSearchPairs();
  const choose = (zone: ZoneChoice) => {
    prefer({ zone });
    // A zone in the address takes precedence, so the choice must replace it.
    const rest = pairs.filter(([name]) => name !== 'zone').map(([name, text]) => [name, text]);
    go(`${path}?${new URLSearchParams([...rest, ['zone', zone]])}`, { replace: true });
  };
  return (
    <Picker
      label={t.zone.label}
      icon={<Clock />}
      value={useZoneChoice()}
      options={zoneChoices.map((value) => ({
        value,
        text: value === 'utc' ? 'UTC' : `${t.zone[value]}: ${zoneName(value, tenant.timeZone)}`,
      }))}
      choose={choose}
    />
  );
}

interface PickerProps<Value extends string> extends SelectProps<Value> {
  label: string;
  icon: ReactNode;
}

function Picker<Value extends string>({ label, icon, ...select }: PickerProps<Value>) {
  return (
    <label className="relative flex items-center rounded-lg text-muted hover:bg-hover hover:text-ink">
      <span className="sr-only">{label}</span>
      <span aria-hidden className="pointer-events-none absolute left-1.5 [&>svg]:size-3.5">
        {icon}
      </span>
      <Select
        className="h-7 w-full cursor-pointer appearance-none truncate rounded-lg bg-transparent pr-2 pl-7 text-xs [&>option]:bg-raised [&>option]:text-ink"
        title={label}
        {...select}
      />
    </label>
  );
}
