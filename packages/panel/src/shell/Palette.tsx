import { eventIdPrefix, type FacetName, facetOf, folded, isUuid } from '@indelible/protocol';
import { Search } from 'lucide-react';
import { useMemo, useRef, useState } from 'react';
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
import { ScrollRegion } from '../components/ScrollRegion.tsx';
import { languageCodes, languages } from '../i18n/languages.ts';
import { type Texts, useLanguage, useReader, useTexts } from '../i18n/texts.tsx';
import { navigationFor } from '../pages/registry.ts';
import { paths } from '../paths.ts';
import { prefer } from '../preferences.ts';
import { changed, type EventSearch, onlyValue } from '../search/event-search.ts';
import { finds } from '../search/folding.ts';
import {
  type DayRange,
  dayAt,
  dayRange,
  latestMonths,
  periodDays,
  periods,
  rangeOfDays,
} from '../search/periods.ts';
import { presets, type TimeRange } from '../search/time-range.ts';
import { typedRange } from '../search/typed-range.ts';
import { useChoices } from '../search/use-choices.ts';
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

/** Opens any page, filters by any value or by words; finds "Ação" from "acao". */
export default function Palette({ close }: { close: () => void }) {
  const t = useTexts();
  const [text, setText] = useState('');
  const commands = useCommands(text.trim());
  const begins = ({ text: name }: Command) => folded(name).startsWith(folded(text.trim()));
  const found = commands
    .filter(({ text: name, section, hint = '' }) => finds(text, `${section} ${name} ${hint}`))
    // "last month" means that, before "Last 12 months".
    .sort((one, other) => Number(begins(other)) - Number(begins(one)))
    .slice(0, shownMax);
  const run = (key: React.Key) => {
    close();
    commands.find(({ id }) => id === key)?.run();
  };
  const hasMoved = useRef(false);
  const type = (typed: string) => {
    hasMoved.current = false;
    setText(typed);
  };
  // Right after a letter the highlight is still where the former list had it. Enter takes the first
  // command, until the reader moves to another.
  const take = (event: React.KeyboardEvent) => {
    if (event.key.startsWith('Arrow')) hasMoved.current = true;
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    const highlighted = '[role=option][data-focused]';
    const option = hasMoved.current && document.querySelector<HTMLElement>(highlighted);
    const key = option ? option.dataset.key : found[0]?.id;
    if (key !== undefined) run(key);
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
          <Autocomplete inputValue={text} onInputChange={type}>
            <SearchField
              autoFocus
              aria-label={t.nav.commands}
              className="relative border-b border-line"
            >
              <Search aria-hidden className="absolute top-4 left-4 size-4 text-faint" />
              <Input
                onKeyDownCapture={take}
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

/** All that can be done from here. What is typed may be an id, days, or the name of a month. */
function useCommands(text: string): Command[] {
  const { t, formats } = useReader();
  const language = useLanguage();
  const session = useSession();
  const go = useGo();
  const print = usePrint();
  const [search] = useEventSearch();
  const [nowMs] = useState(serviceNow);
  const choices = {
    // An id without a name says nothing; one that is pasted is found below.
    user: (useChoices('user', search, nowMs).data ?? []).filter(({ label }) => !isUuid(label)),
    action: useChoices('action', search, nowMs).data ?? [],
    resource: useChoices('resource', search, nowMs).data ?? [],
    category: useChoices('category', search, nowMs).data ?? [],
    outcome: useChoices('outcome', search, nowMs).data ?? [],
  };
  const { timeZone } = formats;
  const today = dayAt(serviceNow(), timeZone);
  const show = (change: Partial<EventSearch>) => () => go(paths.events(changed(search, change)));
  const inTime = (id: string, name: string, range: TimeRange): Command => {
    return { id, section: t.filters.time, text: name, run: show({ range }) };
  };
  const inDays = (name: string, days: DayRange) =>
    inTime(`days:${name}`, name, rangeOfDays(days, timeZone));
  const nameOf = ({ start }: DayRange) => formats.month(start.toDate(timeZone).getTime());
  const days = typedRange(text, today, language);
  const { from = 0, to = 0 } = days === null ? {} : dayRange(days, timeZone);
  const typed = inTime('typed', formats.range(from, to), { kind: 'between', from, to });
  const words = facetOf('q').normalise(text);
  return [
    ...idCommands(text, t, go, (facet) =>
      show({ facets: onlyValue({}, facet, text.toLowerCase()) }),
    ),
    ...(from < to ? [{ ...typed, hint: text }] : []),
    ...navigationFor(session).map(({ path, title }) => {
      return { id: path, section: t.palette.pages, text: title(t), run: () => go(path) };
    }),
    ...facets.flatMap((facet) =>
      choices[facet].map(({ value, label }) => ({
        id: `${facet}:${value}`,
        section: t.filters[facet],
        text: label,
        hint: value,
        run: show({ facets: onlyValue(search.facets, facet, value) }),
      })),
    ),
    ...presets.map((preset) =>
      inTime(`range:${preset}`, t.range[preset], { kind: 'last', preset }),
    ),
    ...periods.map((period) => inDays(t.range[period], periodDays(period, today, language))),
    // Once something is typed, also the months of three years by name.
    ...(text === '' ? [] : latestMonths(today, 36)).map((month) => inDays(nameOf(month), month)),
    ...displayCommands(t),
    { id: 'print', section: t.palette.display, text: t.print.print, run: print },
    ...[words ?? []].flat().map((value) => ({
      id: 'words',
      section: t.palette.filter,
      text: `${t.filters.q}: ${value}`,
      hint: text,
      run: show({ facets: onlyValue(search.facets, 'q', value) }),
    })),
  ];
}

/** The possible meanings of a pasted id. */
function idCommands(
  text: string,
  t: Texts,
  go: (href: string) => void,
  filter: (facet: FacetName) => () => void,
): Command[] {
  const section = t.palette.filter;
  if (text.startsWith(eventIdPrefix)) {
    const run = () => go(paths.event(text));
    return [{ id: 'open', section, text: t.palette.openEvent({ id: text }), run }];
  }
  if (!isUuid(text)) return [];
  return [
    { id: 'id', section, text: t.palette.byResourceId({ value: text }), run: filter('resourceId') },
    { id: 'uid', section, text: t.palette.byUser({ value: text }), run: filter('user') },
    { id: 'person', section, text: t.palette.byPerson({ value: text }), run: filter('onBehalfOf') },
  ];
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
