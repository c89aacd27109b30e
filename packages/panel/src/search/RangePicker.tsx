import { type CalendarDate, parseAbsolute, toCalendarDate } from '@internationalized/date';
import { Check, ChevronLeft, ChevronRight } from 'lucide-react';
import { type RefObject, useState } from 'react';
import {
  Button as AriaButton,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  Dialog,
  Heading,
  I18nProvider,
  Popover,
  RangeCalendar,
} from 'react-aria-components';
import { Button } from '../components/Button.tsx';
import { useLanguage, useTexts } from '../i18n/texts.tsx';
import { useFormats } from '../i18n/use-formats.ts';
import { type DayRange, dayRange } from './day-range.ts';
import { changed, type EventSearch } from './event-search.ts';
import { presets, type TimeRange } from './time-range.ts';

interface RangePickerProps {
  anchor: RefObject<HTMLElement | null>;
  search: EventSearch;
  change: (next: EventSearch) => void;
  close: () => void;
}

/** Presets, and a calendar for two dates of which the last is included to its end. */
export default function RangePicker({ anchor, search, change, close }: RangePickerProps) {
  const t = useTexts();
  const language = useLanguage();
  const choose = (range: TimeRange) => {
    change(changed(search, { range }));
    close();
  };
  return (
    <I18nProvider locale={language}>
      <Popover
        triggerRef={anchor}
        isOpen
        onOpenChange={(isOpen) => !isOpen && close()}
        placement="bottom start"
        className="pop max-w-[calc(100vw-1rem)] overflow-auto"
      >
        <Dialog
          aria-label={t.filters.time}
          className="flex flex-col gap-2 outline-none sm:flex-row"
        >
          <Presets range={search.range} choose={choose} />
          <Days search={search} choose={choose} />
        </Dialog>
      </Popover>
    </I18nProvider>
  );
}

interface ChooseProps {
  choose: (range: TimeRange) => void;
}

function Presets({ range, choose }: ChooseProps & { range: TimeRange }) {
  const t = useTexts();
  return (
    <ul className="grid grid-cols-2 sm:block sm:w-48 sm:border-r sm:border-line sm:pr-1.5">
      {presets.map((preset) => {
        const chosen = range.kind === 'last' && range.preset === preset;
        return (
          <li key={preset}>
            <button
              type="button"
              className="option cursor-pointer"
              aria-pressed={chosen}
              onClick={() => choose({ kind: 'last', preset })}
            >
              {t.range[preset]}
              {chosen && <Check aria-hidden className="ml-auto text-accent!" />}
            </button>
          </li>
        );
      })}
    </ul>
  );
}

function Days({ search, choose }: ChooseProps & { search: EventSearch }) {
  const t = useTexts();
  const { timeZone } = useFormats();
  const [days, setDays] = useState<DayRange | null>(() => daysOf(search.range, timeZone));
  const today = toCalendarDate(parseAbsolute(new Date().toISOString(), timeZone));
  return (
    <div className="p-1.5">
      <RangeCalendar
        aria-label={t.filters.time}
        value={days}
        onChange={setDays}
        maxValue={today}
        defaultFocusedValue={days?.end ?? today}
      >
        <header className="mb-1 flex items-center">
          <Heading className="flex-1 px-1 font-medium" />
          <AriaButton slot="previous" className="btn btn-quiet icon-btn">
            <ChevronLeft aria-hidden />
          </AriaButton>
          <AriaButton slot="next" className="btn btn-quiet icon-btn">
            <ChevronRight aria-hidden />
          </AriaButton>
        </header>
        <CalendarGrid className="border-separate border-spacing-y-0.5">
          <CalendarGridHeader>
            {(day) => (
              <CalendarHeaderCell className="size-8 text-2xs font-medium text-faint">
                {day}
              </CalendarHeaderCell>
            )}
          </CalendarGridHeader>
          <CalendarGridBody>
            {(date) => <CalendarCell date={date} className={dayClass} />}
          </CalendarGridBody>
        </CalendarGrid>
      </RangeCalendar>
      <p className="mt-1 max-w-60 text-2xs text-faint">{t.range.wholeDay}</p>
      <Button
        look="primary"
        className="mt-2 w-full"
        disabled={days === null}
        onClick={() => days && choose({ kind: 'between', ...dayRange(days, timeZone) })}
      >
        {t.range.apply}
      </Button>
    </div>
  );
}

const dayClass =
  'grid size-8 cursor-pointer place-items-center rounded-md text-xs tabular-nums outline-none ' +
  'data-[outside-month]:invisible data-[hovered]:bg-hover data-[disabled]:cursor-default data-[disabled]:text-faint/60 ' +
  'data-[selected]:rounded-none data-[selected]:bg-accent-soft data-[selected]:text-accent ' +
  'data-[selection-start]:rounded-l-md data-[selection-start]:bg-accent data-[selection-start]:text-on-accent ' +
  'data-[selection-end]:rounded-r-md data-[selection-end]:bg-accent data-[selection-end]:text-on-accent ' +
  'data-[focus-visible]:outline-2 data-[focus-visible]:outline-accent';

function daysOf(range: TimeRange, timeZone: string): DayRange | null {
  if (range.kind !== 'between' || range.from === undefined || range.to === undefined) return null;
  const dayAt = (ms: number): CalendarDate =>
    toCalendarDate(parseAbsolute(new Date(ms).toISOString(), timeZone));
  return { start: dayAt(range.from), end: dayAt(range.to - 1) };
}
