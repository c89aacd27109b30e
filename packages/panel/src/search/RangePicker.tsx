import {
  type CalendarDate,
  type DateValue,
  parseAbsolute,
  startOfMonth,
  Time,
} from '@internationalized/date';
import { Check, ChevronLeft, ChevronRight } from 'lucide-react';
import { type RefObject, useState } from 'react';
import {
  Button as AriaButton,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  DateField,
  DateInput,
  DateSegment,
  Dialog,
  I18nProvider,
  Popover,
  RangeCalendar,
  TimeField,
} from 'react-aria-components';
import { Button } from '../components/Button.tsx';
import { Select } from '../components/fields.tsx';
import { useFormats, useLanguage, useTexts } from '../i18n/texts.tsx';
import { serviceNow } from '../service-clock.ts';
import { changed, type EventSearch, type Searching } from './event-search.ts';
import { type DayRange, dayAt, dayRange, periodDays, periods, rangeOfDays } from './periods.ts';
import { presets, type TimeRange } from './time-range.ts';

interface RangePickerProps extends Omit<Searching, 'nowMs'> {
  anchor: RefObject<HTMLElement | null>;
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
  const language = useLanguage();
  const { timeZone } = useFormats();
  const today = dayAt(serviceNow(), timeZone);
  return (
    <ul className="grid grid-cols-2 sm:block sm:w-48 sm:border-r sm:border-line sm:pr-1.5">
      {periods.map((period) => (
        <li key={period}>
          <button
            type="button"
            className="option cursor-pointer"
            onClick={() => choose(rangeOfDays(periodDays(period, today, language), timeZone))}
          >
            {t.range[period]}
          </button>
        </li>
      ))}
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
  const today = dayAt(serviceNow(), timeZone);
  const [shown, setShown] = useState<DateValue>(days?.end ?? today);
  const chosen = days && dayRange(days, timeZone);
  return (
    <div className="p-1.5">
      <TypedDays days={days} setDays={setDays} show={setShown} today={today} />
      <RangeCalendar
        aria-label={t.filters.time}
        value={days}
        onChange={(chosen) => setDays({ ...days, ...chosen })}
        maxValue={today}
        focusedValue={shown}
        onFocusChange={setShown}
      >
        <header className="mb-1 flex items-center">
          <MonthJump shown={shown} show={setShown} today={today} />
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
      <TypedTimes days={days} setDays={setDays} />
      <p className="mt-1 max-w-60 text-2xs text-faint">{t.range.wholeDay}</p>
      <Button
        look="primary"
        className="mt-2 w-full"
        disabled={chosen === null || chosen.from >= chosen.to}
        onClick={() => chosen && choose({ kind: 'between', ...chosen })}
      >
        {t.range.apply}
      </Button>
    </div>
  );
}

interface ShownMonth {
  show: (day: DateValue) => void;
  today: CalendarDate;
}

/** The first and the last day, typed in the order of the reader's language. */
function TypedDays(
  props: ShownMonth & { days: DayRange | null; setDays: (days: DayRange) => void },
) {
  const { days, setDays, show, today } = props;
  const t = useTexts();
  const [typed, setTyped] = useState<{ start?: DateValue; end?: DateValue }>({});
  const ends = { ...days, ...typed };
  const type = (end: 'start' | 'end', day: DateValue | null) => {
    if (day === null) return;
    const { start, end: last } = end === 'start' ? { ...ends, start: day } : { ...ends, end: day };
    setTyped({ ...typed, [end]: day });
    if (!start || !last || start.compare(last) > 0 || last.compare(today) > 0) return;
    setDays({ ...days, start, end: last });
    setTyped({});
    show(day);
  };
  return (
    <div className="mb-2 grid grid-cols-2 gap-2">
      {(['start', 'end'] as const).map((end) => (
        <DateField
          key={end}
          aria-label={t.range[end]}
          value={ends[end] ?? null}
          maxValue={today}
          onChange={(day) => type(end, day)}
        >
          <Segments />
        </DateField>
      ))}
    </div>
  );
}

function Segments() {
  return (
    <DateInput className="field flex h-8 items-center px-2 text-xs tabular-nums">
      {(segment) => (
        <DateSegment
          segment={segment}
          className="rounded-sm px-px outline-none data-[focused]:bg-accent data-[focused]:text-on-accent"
        />
      )}
    </DateInput>
  );
}

/** When the range begins on the first day and ends on the last one. */
function TypedTimes(props: { days: DayRange | null; setDays: (days: DayRange) => void }) {
  const { days, setDays } = props;
  const t = useTexts();
  return (
    <div className="mt-2 grid grid-cols-2 gap-2">
      {(['startTime', 'endTime'] as const).map((name) => (
        <TimeField
          key={name}
          aria-label={t.range[name]}
          hourCycle={24}
          isDisabled={days === null}
          value={days?.[name] ?? null}
          onChange={(time) => days && setDays({ ...days, [name]: time })}
        >
          <Segments />
        </TimeField>
      ))}
    </div>
  );
}

/** Most plans keep events for at most so many years. */
const yearsBack = 10;
const months = Array.from({ length: 12 }, (_, index) => index + 1);

/** Month and year of the calendar, each chosen at once. */
function MonthJump({ shown, show, today }: ShownMonth & { shown: DateValue }) {
  const t = useTexts();
  const language = useLanguage();
  const first = startOfMonth(shown);
  const years = Array.from({ length: yearsBack + 1 }, (_, back) => today.year - back);
  const monthName = new Intl.DateTimeFormat(language, { month: 'long', timeZone: 'UTC' });
  const jump = (to: { month?: number; year?: number }) => {
    const day = first.set(to);
    show(day.compare(today) > 0 ? today : day);
  };
  const select =
    'h-8 min-w-0 cursor-pointer rounded-lg bg-transparent px-1 text-[0.8125rem] font-medium [&>option]:bg-raised';
  return (
    <div className="flex min-w-0 flex-1">
      <Select
        aria-label={t.range.month}
        className={select}
        value={String(shown.month)}
        options={months.map((month) => ({
          value: String(month),
          text: monthName.format(Date.UTC(2026, month - 1)),
        }))}
        choose={(month) => jump({ month: Number(month) })}
      />
      <Select
        aria-label={t.range.year}
        className={select}
        value={String(shown.year)}
        options={years.map((year) => ({ value: String(year), text: String(year) }))}
        choose={(year) => jump({ year: Number(year) })}
      />
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
  const timeAt = (ms: number) => {
    const { hour, minute, second } = parseAbsolute(new Date(ms).toISOString(), timeZone);
    return hour + minute + second === 0 ? null : new Time(hour, minute, second);
  };
  const times = { startTime: timeAt(range.from), endTime: timeAt(range.to) };
  return { start: dayAt(range.from, timeZone), end: dayAt(range.to - 1, timeZone), ...times };
}
