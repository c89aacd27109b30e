import { eventIdPrefix, type FacetName, isUuid } from '@indelible/protocol';
import { Search } from 'lucide-react';
import { useMemo, useState } from 'react';
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Modal,
  ModalOverlay,
  SearchField,
} from 'react-aria-components';
import type { Session } from '../api.ts';
import { ScrollRegion } from '../components/ScrollRegion.tsx';
import type { Formats } from '../i18n/formats.ts';
import { languageCodes, languages } from '../i18n/languages.ts';
import { type Texts, useFormats, useLanguage, useTexts } from '../i18n/texts.tsx';
import { navigationFor } from '../pages/registry.ts';
import { paths } from '../paths.ts';
import { prefer } from '../preferences.ts';
import { type DayRange, dayRange } from '../search/day-range.ts';
import { changed, type EventSearch, onlyValue } from '../search/event-search.ts';
import { finds } from '../search/folding.ts';
import { dayAt, latestMonths, periodDays, periods, rangeOfDays } from '../search/periods.ts';
import { presets } from '../search/time-range.ts';
import { typedRange } from '../search/typed-range.ts';
import { type Choice, useChoices } from '../search/use-choices.ts';
import { serviceNow } from '../service-clock.ts';
import { useSession } from '../session/session-context.tsx';
import { useEventSearch, useGo } from '../use-location.ts';
import { usePrint } from './use-printing.ts';

interface Command {
  id: string;
  section: string;
  text: string;
  /** Additional search words. */
  hint?: string;
  run: () => void;
}

const facets = ['user', 'action', 'resource', 'category', 'outcome'] as const;
const shownMax = 40;

/** Opens any page and filters by any value; finds "Ação" from "acao". */
export default function Palette({ close }: { close: () => void }) {
  const t = useTexts();
  const go = useGo();
  const print = usePrint();
  const language = useLanguage();
  const formats = useFormats();
  const session = useSession();
  const [text, setText] = useState('');
  const [search] = useEventSearch();
  const [nowMs] = useState(serviceNow);
  const choices = {
    user: useChoices('user', search, nowMs).data ?? [],
    action: useChoices('action', search, nowMs).data ?? [],
    resource: useChoices('resource', search, nowMs).data ?? [],
    category: useChoices('category', search, nowMs).data ?? [],
    outcome: useChoices('outcome', search, nowMs).data ?? [],
  };
  const commands = [
    ...typedCommands(text.trim(), search, t, go),
    ...typedRangeCommands(text.trim(), search, t, language, formats, go),
    ...pageCommands(session, t, go),
    ...facets.flatMap((facet) => facetCommands(facet, choices[facet], search, t, go)),
    ...rangeCommands(search, t, go),
    ...calendarCommands(text.trim(), search, t, language, formats, go),
    ...displayCommands(t),
    { id: 'print', section: t.palette.display, text: t.print.print, run: print },
  ];
  const found = commands
    .filter(({ text: name, section, hint = '' }) => finds(text, `${section} ${name} ${hint}`))
    .slice(0, shownMax);
  const run = (key: React.Key) => {
    close();
    commands.find(({ id }) => id === key)?.run();
  };
  return (
    <ModalOverlay
      isOpen
      isDismissable
      onOpenChange={(isOpen) => !isOpen && close()}
      className="scrim items-start pt-[12vh]"
    >
      <Modal className="pop w-full max-w-xl p-0">
        <Dialog aria-label={t.nav.commands} className="flex max-h-[60vh] flex-col outline-none">
          <Autocomplete inputValue={text} onInputChange={setText}>
            <SearchField
              autoFocus
              aria-label={t.nav.commands}
              className="relative border-b border-line"
            >
              <Search aria-hidden className="absolute top-4 left-4 size-4 text-faint" />
              <Input
                onKeyDown={({ key }) => key === 'Escape' && close()}
                className="h-12 w-full bg-transparent pr-4 pl-11 text-base outline-none placeholder:text-faint"
                placeholder={t.palette.placeholder}
              />
            </SearchField>
            <ScrollRegion label={t.nav.commands} className="min-h-0">
              <Results found={found} run={run} />
            </ScrollRegion>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function Results({ found, run }: { found: Command[]; run: (key: React.Key) => void }) {
  const t = useTexts();
  const sections = useMemo(() => [...Map.groupBy(found, ({ section }) => section)], [found]);
  return (
    <ListBox
      aria-label={t.nav.commands}
      onAction={run}
      className="p-1.5"
      renderEmptyState={() => <p className="py-6 text-center text-faint">{t.palette.none}</p>}
    >
      {sections.map(([name, commands]) => (
        <ListBoxSection key={name} id={name}>
          <Header className="px-2 pt-2 pb-1 text-2xs font-medium text-faint">{name}</Header>
          {commands.map((command) => (
            <ListBoxItem
              key={command.id}
              id={command.id}
              textValue={command.text}
              className="option cursor-pointer data-[focused]:bg-accent-soft data-[focused]:text-accent"
            >
              <span dir="auto" className="truncate">
                {command.text}
              </span>
            </ListBoxItem>
          ))}
        </ListBoxSection>
      ))}
    </ListBox>
  );
}

type Go = (href: string) => void;

/** The possible meanings of a pasted id. */
function typedCommands(text: string, search: EventSearch, t: Texts, go: Go): Command[] {
  const section = t.palette.filter;
  if (text.startsWith(eventIdPrefix)) {
    const run = () => go(paths.event(text));
    return [{ id: 'open', section, text: t.palette.openEvent({ id: text }), run }];
  }
  if (!isUuid(text)) return [];
  const filter = (facet: FacetName) => () =>
    go(paths.events(changed(search, { facets: onlyValue({}, facet, text.toLowerCase()) })));
  return [
    { id: 'id', section, text: t.palette.byResourceId({ value: text }), run: filter('resourceId') },
    { id: 'uid', section, text: t.palette.byUser({ value: text }), run: filter('user') },
    { id: 'person', section, text: t.palette.byPerson({ value: text }), run: filter('onBehalfOf') },
  ];
}

function pageCommands(session: Session, t: Texts, go: Go): Command[] {
  return navigationFor(session).map(({ path, title }) => ({
    id: path,
    section: t.palette.pages,
    text: title(t),
    run: () => go(path),
  }));
}

function facetCommands(
  facet: FacetName,
  choices: readonly Choice[],
  search: EventSearch,
  t: Texts,
  go: Go,
): Command[] {
  return choices.map(({ value, label }) => ({
    id: `${facet}:${value}`,
    section: t.filters[facet],
    text: label,
    hint: value,
    run: () =>
      go(paths.events(changed(search, { facets: onlyValue(search.facets, facet, value) }))),
  }));
}

function rangeCommands(search: EventSearch, t: Texts, go: Go): Command[] {
  return presets.map((preset) => ({
    id: `range:${preset}`,
    section: t.filters.time,
    text: t.range[preset],
    run: () => go(paths.events(changed(search, { range: { kind: 'last', preset } }))),
  }));
}

/** The days and times that are typed. */
function typedRangeCommands(
  text: string,
  search: EventSearch,
  t: Texts,
  language: string,
  { timeZone, range: rangeText }: Formats,
  go: Go,
): Command[] {
  const days = typedRange(text, dayAt(serviceNow(), timeZone), language);
  if (days === null) return [];
  const { from, to } = dayRange(days, timeZone);
  if (from >= to) return [];
  const run = () => go(paths.events(changed(search, { range: { kind: 'between', from, to } })));
  return [{ id: 'typed', section: t.filters.time, text: rangeText(from, to), hint: text, run }];
}

/** Today to last month; once something is typed, also the months of three years by name. */
function calendarCommands(
  text: string,
  search: EventSearch,
  t: Texts,
  language: string,
  { timeZone, month }: Formats,
  go: Go,
): Command[] {
  const today = dayAt(serviceNow(), timeZone);
  const command = (name: string, days: DayRange): Command => ({
    id: `days:${name}`,
    section: t.filters.time,
    text: name,
    run: () => go(paths.events(changed(search, { range: rangeOfDays(days, timeZone) }))),
  });
  const named = periods.map((period) =>
    command(t.range[period], periodDays(period, today, language)),
  );
  const months = text === '' ? [] : latestMonths(today, 36);
  const nameOf = ({ start }: DayRange) => month(start.toDate(timeZone).getTime());
  return [...named, ...months.map((days) => command(nameOf(days), days))];
}

function displayCommands(t: Texts): Command[] {
  const section = t.palette.display;
  const themes = (['system', 'light', 'dark'] as const).map((theme) => ({
    id: `theme:${theme}`,
    section,
    text: `${t.theme.label}: ${t.theme[theme]}`,
    run: () => prefer({ theme }),
  }));
  const spoken = languageCodes.map((language) => ({
    id: `language:${language}`,
    section,
    text: `${t.language}: ${languages[language].name}`,
    run: () => prefer({ language }),
  }));
  return [...themes, ...spoken];
}
