import { TriangleAlert } from 'lucide-react';
import { type FocusEvent, type KeyboardEvent, useState } from 'react';
import { AppLink } from '../../components/AppLink.tsx';
import { MoreButton, useShown } from '../../components/paged-list.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { TabStops, Value } from '../../components/Value.tsx';
import { useFormats, useReader, useTexts } from '../../i18n/texts.tsx';
import { countIn, type HeatColumn, heatStep, type PersonDays } from './access-days.ts';

interface HeatTableProps {
  people: readonly PersonDays[];
  columns: readonly HeatColumn[];
  hrefOf: (person: PersonDays, column: HeatColumn) => string;
}

type Keys = ReturnType<typeof useHeatKeys>;

const personColumn = 'sticky left-0 z-10 w-36 bg-surface pr-2 text-left sm:w-56';
const totalColumn = 'sticky left-36 z-10 w-14 bg-surface pr-2 text-right sm:left-56';

/** A heat map as a table: people down, days or weeks across, a link in every non-empty cell. */
export function HeatTable({ people, columns, hrefOf }: HeatTableProps) {
  const t = useTexts();
  const { shown, more } = useShown(people, 40);
  const keys = useHeatKeys();
  const highest = Math.max(
    ...people.flatMap((person) => columns.map((column) => countIn(column, person))),
  );
  return (
    <div className="px-4 pb-8 lg:px-6">
      <Legend highest={highest} isWeekly={columns.some(({ days }) => days.length > 1)} />
      <ScrollRegion label={t.nav.sensitiveAccess} fromEnd>
        <table
          className="w-full min-w-3xl table-fixed border-separate border-spacing-0.5 text-[0.8125rem]"
          {...keys.table}
        >
          <thead>
            <tr className="text-2xs text-faint">
              <th scope="col" className={`${personColumn} font-medium`}>
                {t.sensitiveAccess.person}
              </th>
              <th scope="col" className={`${totalColumn} font-medium`}>
                {t.sensitiveAccess.total}
              </th>
              {columns.map(({ from }, index) => (
                <DayHead key={from} start={from} index={index} count={columns.length} />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((person, row) => (
              <PersonRow
                key={person.user}
                person={person}
                row={row}
                columns={columns}
                highest={highest}
                keys={keys}
                hrefOf={hrefOf}
              />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      <MoreButton {...more} />
    </div>
  );
}

/** Every column has a name for screen readers; as many as fit are visible. */
function DayHead({ start, index, count }: { start: number; index: number; count: number }) {
  const formats = useFormats();
  const isShown = (count - 1 - index) % Math.max(1, Math.ceil(count / 15)) === 0;
  // The first name would reach under the columns that stay in sight.
  const look = `absolute ${index === 0 ? 'left-0' : 'right-0'} bottom-1 whitespace-nowrap`;
  return (
    <th scope="col" className="relative h-9 w-6 align-bottom font-normal print:w-auto">
      <span className={isShown ? look : 'sr-only'}>{formats.shortDay(start)}</span>
    </th>
  );
}

interface RowProps extends Omit<HeatTableProps, 'people'> {
  person: PersonDays;
  row: number;
  highest: number;
  keys: Keys;
}

function PersonRow({ person, row, columns, highest, keys, hrefOf }: RowProps) {
  const { t, formats } = useReader();
  const { unusual, user, label } = person;
  return (
    <tr>
      <th scope="row" className={`${personColumn} font-normal`}>
        <span className="flex items-center gap-1">
          <TabStops value={keys.isStop(row, 0)}>
            <Value facet="user" value={user} label={label} />
          </TabStops>
          {unusual.length > 0 && (
            <TriangleAlert
              role="img"
              aria-label={t.sensitiveAccess.unusualDays({ count: unusual.length })}
              className="ml-auto size-3.5 shrink-0 text-warn"
            />
          )}
        </span>
      </th>
      <td className={`${totalColumn} font-medium tabular-nums`}>{formats.number(person.total)}</td>
      {columns.map((column, index) => (
        <HeatCell
          key={column.from}
          person={person}
          column={column}
          highest={highest}
          hrefOf={hrefOf}
          tabbable={keys.isStop(row, index + 2)}
        />
      ))}
    </tr>
  );
}

const tones = ['bg-sunken', 'bg-heat-1', 'bg-heat-2', 'bg-heat-3', 'bg-heat-4', 'bg-heat-5'];

const inks = ['', 'text-ink', 'text-ink', 'text-white', 'text-on-accent', 'text-on-accent'];

interface CellProps extends Pick<RowProps, 'person' | 'highest' | 'hrefOf'> {
  column: HeatColumn;
  tabbable: boolean;
}

function HeatCell({ person, column, highest, hrefOf, tabbable }: CellProps) {
  const { t, formats } = useReader();
  const count = countIn(column, person);
  const step = heatStep(count, highest);
  if (count === 0) {
    return (
      <td className={`h-7 rounded-sm ${tones[0]}`}>
        <span className="sr-only">0</span>
      </td>
    );
  }
  const text = formats.number(count);
  const unusual = person.unusual.some(({ day }) => column.days.includes(day));
  const when =
    column.days.length > 1 ? formats.dayRange(column.from, column.to) : formats.day(column.from);
  const label = `${person.label}, ${when}: ${text}`;
  const said = unusual ? `${label}. ${t.sensitiveAccess.unusual}` : label;
  return (
    <td
      className={`h-7 rounded-sm p-0 ${tones[step]} ${unusual ? 'outline-2 -outline-offset-2 outline-warn-bar' : ''}`}
    >
      <AppLink
        href={hrefOf(person, column)}
        aria-label={said}
        title={said}
        tabIndex={tabbable ? 0 : -1}
        // Not under the columns that stay in sight.
        className={`grid h-7 scroll-ml-52 place-items-center rounded-sm text-2xs tabular-nums sm:scroll-ml-72 ${inks[step]}`}
      >
        {text}
      </AppLink>
    </td>
  );
}

function Legend({ highest, isWeekly }: { highest: number; isWeekly: boolean }) {
  const { t, formats } = useReader();
  return (
    <p className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-2xs text-faint">
      <span className="flex items-center gap-1">
        {isWeekly ? t.sensitiveAccess.legendWeeks : t.sensitiveAccess.legend}: 0
        {tones.map((tone) => (
          <span key={tone} aria-hidden className={`size-3 rounded-sm ${tone}`} />
        ))}
        {formats.number(highest)}
      </span>
      <span className="flex items-center gap-1">
        <TriangleAlert aria-hidden className="size-3 text-warn" />
        <span aria-hidden className="size-3 rounded-sm outline-2 outline-warn-bar" />
        {t.sensitiveAccess.unusual}
      </span>
    </p>
  );
}

/**
 * One Tab stop for a whole table of links: arrow keys move from one to the next, and between rows
 * to the nearest column.
 */
function useHeatKeys() {
  const [stop, setStop] = useState({ row: 0, column: 0 });
  return {
    isStop: (row: number, column: number) => stop.row === row && stop.column === column,
    table: {
      onFocus: ({ target }: FocusEvent<HTMLTableElement>) => {
        const row = target.closest('tr')?.sectionRowIndex ?? 0;
        setStop({ row, column: columnOf(target) });
      },
      onKeyDown: (event: KeyboardEvent<HTMLTableElement>) => {
        const next = neighbour(event.target, event.key);
        if (next === null) return;
        event.preventDefault();
        next.focus();
      },
    },
  };
}

const stops = (row: Element | null | undefined) => [
  ...(row?.querySelectorAll<HTMLElement>('a, button') ?? []),
];

function neighbour(target: EventTarget, key: string): HTMLElement | null {
  const stop = target instanceof Element ? target.closest<HTMLElement>('a, button') : null;
  const row = stop?.closest('tr');
  if (!stop || !row) return null;
  const beside = stops(row);
  const at = beside.indexOf(stop);
  if (key === 'ArrowLeft') return beside[at - 1] ?? null;
  if (key === 'ArrowRight') return beside[at + 1] ?? null;
  if (key === 'Home') return beside[0] ?? null;
  if (key === 'End') return beside.at(-1) ?? null;
  if (key === 'ArrowUp') return nearest(stops(row.previousElementSibling), columnOf(stop));
  if (key === 'ArrowDown') return nearest(stops(row.nextElementSibling), columnOf(stop));
  return null;
}

const columnOf = (stop: Element) => stop.closest('td')?.cellIndex ?? 0;

function nearest(among: readonly HTMLElement[], column: number): HTMLElement | null {
  const away = (stop: HTMLElement) => Math.abs(columnOf(stop) - column);
  return among.toSorted((a, b) => away(a) - away(b))[0] ?? null;
}
