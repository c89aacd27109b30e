import { IndelibleError } from '@indelible/client';
import { bucketStarts, filterToJson, formatTimestamp, parseTimestamp } from '@indelible/protocol';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Eye, List, TriangleAlert } from 'lucide-react';
import { useMemo } from 'react';
import { client, type Session } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { MoreButton, useShown } from '../../components/paged-list.tsx';
import { QueryState } from '../../components/States.tsx';
import { useFormats, useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { PrintCriteria } from '../../search/CriteriaList.tsx';
import { EmptyResult } from '../../search/EmptyResult.tsx';
import { changed, type EventSearch, filterAt, onlyValue } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { useMoment } from '../../search/use-events.ts';
import { useSession } from '../../session/session-context.tsx';
import { useEventSearch } from '../../use-location.ts';
import { columnsOf, type PersonDays, peopleOf, timesUsual } from './access-days.ts';
import { HeatTable } from './HeatTable.tsx';

const day = 86_400_000;
const yearMs = 366 * day;
/** Counted if a year has more people and days than the service counts at once. */
const quarterMs = 92 * day;

type Shown = NonNullable<Session['sensitiveAccess']>;

/** Who accessed resources of the catalogue's `accessTypes`; each cell leads to its events. */
export default function SensitiveAccessPage() {
  const { sensitiveAccess } = useSession();
  return sensitiveAccess && <SensitiveAccess shown={sensitiveAccess} />;
}

function SensitiveAccess({ shown }: { shown: Shown }) {
  const t = useTexts();
  const [asked, change] = useEventSearch();
  const search = useMemo(() => accessSearch(asked, shown), [asked, shown]);
  const types = shown.resourceTypes.map((type) => wordOf(t.resources, type));
  const { nowMs } = useMoment(search);
  const access = useAccess(search, nowMs);
  const asList = paths.events(changed(search, { sort: 'user', order: 'asc' }));
  return (
    <>
      <PageHead
        title={t.nav.sensitiveAccess}
        intro={t.sensitiveAccess.intro({ types: types.join(', ') })}
        actions={
          <AppLink href={asList} className="btn">
            <List aria-hidden />
            {t.sensitiveAccess.seeEvents}
          </AppLink>
        }
      >
        <FilterBar search={asked} nowMs={nowMs} change={change} facets={ownFacets} />
      </PageHead>
      <PrintCriteria search={search} nowMs={nowMs} />
      {access.data?.isClipped && <Clipped {...access.data} />}
      <QueryState query={access} />
      {access.data?.people.length === 0 && (
        <EmptyResult
          search={asked}
          change={change}
          none={{ title: t.sensitiveAccess.none, Icon: Eye }}
        />
      )}
      {access.data && access.data.people.length > 0 && (
        <AccessMap key={access.data.to} {...access.data} search={search} />
      )}
    </>
  );
}

type Access = NonNullable<ReturnType<typeof useAccess>['data']>;

function AccessMap({ people, days, to, search }: Access & { search: EventSearch }) {
  const hrefOf = ({ user }: { user: string }, from: number, end: number) =>
    paths.events(
      changed(search, {
        facets: onlyValue(search.facets, 'user', user),
        range: { kind: 'between', from, to: end },
      }),
    );
  const dayAfter = (day: number) => days[days.indexOf(day) + 1] ?? to;
  return (
    <>
      <UnusualDays people={people} hrefOf={(person, day) => hrefOf(person, day, dayAfter(day))} />
      <HeatTable
        people={people}
        columns={columnsOf(days, to)}
        hrefOf={(person, column) => hrefOf(person, column.from, column.to)}
      />
    </>
  );
}

/** The part of a longer range that fits into the table. */
function Clipped({ from, to, days }: Pick<Access, 'from' | 'to' | 'days'>) {
  const { t, formats } = useReader();
  return (
    <p role="note" className="px-4 pb-3 text-muted lg:px-6">
      {t.sensitiveAccess.clipped({ days: days.length, range: formats.range(from, to) })}
    </p>
  );
}

const ownFacets = ['user', 'action'] as const;

/** Every action that reads, unless the reader chooses some. */
function accessSearch(search: EventSearch, { resourceTypes, actions }: Shown): EventSearch {
  const { action = { any: actions, none: [] } } = search.facets;
  const resource = { any: resourceTypes, none: [] };
  return { ...search, facets: { ...search.facets, action, resource } };
}

function useAccess(search: EventSearch, nowMs: number) {
  const { timeZone } = useFormats();
  const filter = filterAt(search, nowMs);
  const to = filter.to ?? nowMs;
  const asked = Math.max(filter.from ?? 0, to - yearMs);
  const criteria = filterToJson({ ...filter, to });
  return useQuery({
    queryKey: ['sensitive-access', criteria, timeZone],
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const count = async (from: number) => {
        const within = { ...criteria, from: formatTimestamp(from) };
        const { data } = await client.stats({ ...within, groupBy: ['user', 'day'], timeZone });
        const days = bucketStarts(from, to, 'day', timeZone, 400) ?? [];
        const isClipped = from > (filter.from ?? 0);
        return { people: peopleOf(data.map(rowOf)), days, from, to, isClipped };
      };
      return count(asked).catch((error: unknown) => {
        const isTooMuch = error instanceof IndelibleError && error.status === 400;
        if (!isTooMuch || to - asked <= quarterMs) throw error;
        return count(to - quarterMs);
      });
    },
  });
}

function rowOf(row: Readonly<Record<string, unknown>> & { count: number }) {
  return {
    user: String(row.user),
    email: typeof row.email === 'string' ? row.email : null,
    day: parseTimestamp(String(row.day)) ?? 0,
    count: row.count,
  };
}

interface UnusualDaysProps {
  people: readonly PersonDays[];
  /** The address of the person's events from the start of a day to its end. */
  hrefOf: (person: PersonDays, day: number) => string;
}

/** The days that stand out, above the map: who, when, how many, and the way to the events. */
function UnusualDays({ people, hrefOf }: UnusualDaysProps) {
  const { t, formats } = useReader();
  const all = people
    .flatMap((person) => person.unusual.map((unusual) => ({ person, ...unusual })))
    .sort((a, b) => timesUsual(b) - timesUsual(a));
  const { shown, more } = useShown(all, 5);
  if (all.length === 0) return null;
  const title = t.sensitiveAccess.unusualDays({ count: all.length });
  return (
    <section
      aria-label={title}
      className="mx-4 mb-4 rounded-lg border border-warn/30 bg-warn-soft px-4 py-3 lg:mx-6"
    >
      <h2 className="flex items-center gap-2 font-semibold text-warn">
        <TriangleAlert aria-hidden className="size-4 shrink-0" />
        {title}
      </h2>
      <ul className="mt-1.5 space-y-1">
        {shown.map(({ person, day, count, usual }) => (
          <li key={`${person.user} ${day}`} className="wrap-anywhere">
            <AppLink href={hrefOf(person, day)} className="link font-medium">
              {person.label}, {formats.day(day)}
            </AppLink>
            : {t.sensitiveAccess.accesses({ count })}
            {usual > 0 && `, ${t.sensitiveAccess.usually({ count: usual })}`}
          </li>
        ))}
      </ul>
      <MoreButton {...more} />
    </section>
  );
}
