import { TriangleAlert } from 'lucide-react';
import { AppLink } from '../../components/AppLink.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { Value } from '../../components/Value.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import { changed, type EventSearch, onlyValue } from '../../search/event-search.ts';
import { heatStep, isUnusual, type PersonDays } from './access-days.ts';

interface HeatTableProps {
  people: readonly PersonDays[];
  /** Starts of the days, ms. */
  days: readonly number[];
  /** End of the last requested day. */
  to: number;
  search: EventSearch;
}

const peopleMax = 40;

/** A heat map as a table: people down, days across, a link in every non-empty cell. */
export function HeatTable({ people, days, to, search }: HeatTableProps) {
  const t = useTexts();
  const formats = useFormats();
  return (
    <div className="px-4 pb-8 lg:px-6">
      <Legend />
      <ScrollRegion label={t.nav.sensitiveAccess} fromEnd>
        <table className="w-full min-w-3xl table-fixed border-separate border-spacing-0.5 text-[0.8125rem]">
          <thead>
            <tr className="text-2xs text-faint">
              <th
                scope="col"
                className="sticky left-0 z-10 w-36 bg-surface pr-3 text-left font-medium sm:w-48"
              >
                {t.sensitiveAccess.person}
              </th>
              <th scope="col" className="w-16 pr-3 text-right font-medium">
                {t.sensitiveAccess.total}
              </th>
              {days.map((start, index) => (
                <DayHead key={start} start={start} labelled={labelled(index, days.length)} />
              ))}
            </tr>
          </thead>
          <tbody>
            {people.slice(0, peopleMax).map((person) => (
              <tr key={person.user}>
                <th
                  scope="row"
                  className="sticky left-0 z-10 bg-surface pr-3 text-left font-normal"
                >
                  <Value facet="user" value={person.user} label={person.label}>
                    {person.label}
                  </Value>
                </th>
                <td className="pr-3 text-right font-medium tabular-nums">
                  {formats.number(person.total)}
                </td>
                {days.map((start, index) => (
                  <HeatCell
                    key={start}
                    person={person}
                    from={start}
                    to={days[index + 1] ?? to}
                    search={search}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {people.length > peopleMax && (
        <p className="mt-3 text-muted">
          {t.sensitiveAccess.others(
            people.length - peopleMax,
            formats.number(people.length - peopleMax),
          )}
        </p>
      )}
    </div>
  );
}

/** Every day has a name for screen readers; as many as fit are visible. */
function labelled(index: number, count: number): boolean {
  return (count - 1 - index) % Math.max(1, Math.ceil(count / 15)) === 0;
}

function DayHead({ start, labelled: shown }: { start: number; labelled: boolean }) {
  const formats = useFormats();
  const day = formats.shortDay(start);
  return (
    <th scope="col" className="relative h-9 w-6 align-bottom font-normal">
      {shown ? (
        <span className="absolute right-0 bottom-1 whitespace-nowrap">{day}</span>
      ) : (
        <span className="sr-only">{day}</span>
      )}
    </th>
  );
}

const tones = ['bg-sunken', 'bg-heat-1', 'bg-heat-2', 'bg-heat-3', 'bg-heat-4', 'bg-heat-5'];

const inks = ['', 'text-ink', 'text-ink', 'text-white', 'text-on-accent', 'text-on-accent'];

interface HeatCellProps {
  person: PersonDays;
  from: number;
  to: number;
  search: EventSearch;
}

function HeatCell({ person, from, to, search }: HeatCellProps) {
  const t = useTexts();
  const formats = useFormats();
  const count = person.counts.get(from) ?? 0;
  const step = heatStep(count);
  const text = formats.number(count);
  if (count === 0) {
    return (
      <td className={`h-7 rounded-sm ${tones[0]}`}>
        <span className="sr-only">0</span>
      </td>
    );
  }
  const unusual = isUnusual(count, person);
  const label = `${person.label}, ${formats.day(from)}: ${text}`;
  const target = changed(search, {
    facets: onlyValue(search.facets, 'user', person.user),
    range: { kind: 'between', from, to },
  });
  return (
    <td
      className={`h-7 rounded-sm p-0 ${tones[step]} ${unusual ? 'outline-2 -outline-offset-2 outline-warn-bar' : ''}`}
    >
      <AppLink
        href={paths.events(target)}
        aria-label={unusual ? `${label}. ${t.sensitiveAccess.unusual}` : label}
        title={unusual ? `${label}. ${t.sensitiveAccess.unusual}` : label}
        className={`grid h-7 place-items-center rounded-sm text-2xs tabular-nums ${inks[step]}`}
      >
        {text}
      </AppLink>
    </td>
  );
}

function Legend() {
  const t = useTexts();
  return (
    <p className="mb-2 flex flex-wrap items-center gap-x-4 gap-y-1 text-2xs text-faint">
      <span className="flex items-center gap-1">
        {t.sensitiveAccess.legend}: {t.sensitiveAccess.fewer}
        {tones.map((tone) => (
          <span key={tone} aria-hidden className={`size-3 rounded-sm ${tone}`} />
        ))}
        {t.sensitiveAccess.moreOf}
      </span>
      <span className="flex items-center gap-1">
        <TriangleAlert aria-hidden className="size-3 text-warn" />
        <span aria-hidden className="size-3 rounded-sm outline-2 outline-warn-bar" />
        {t.sensitiveAccess.unusual}
      </span>
    </p>
  );
}
