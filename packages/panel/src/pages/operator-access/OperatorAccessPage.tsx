import type { AuditEvent, EventPage } from '@indelible/client';
import { filterToJson, revealed } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { TriangleAlert, UserRoundCheck } from 'lucide-react';
import { useMemo } from 'react';
import { client } from '../../api.ts';
import { ActionLabel } from '../../components/ActionLabel.tsx';
import { AppLink } from '../../components/AppLink.tsx';
import { DownloadButton } from '../../components/DownloadButton.tsx';
import { ErasedBadge, isErased } from '../../components/Erased.tsx';
import { HeadRow } from '../../components/HeadRow.tsx';
import { useListKeys } from '../../components/list-keys.ts';
import { PageHead } from '../../components/PageHead.tsx';
import { RecordedBy } from '../../components/RecordedBy.tsx';
import { LoadError, Notice, Skeleton } from '../../components/States.tsx';
import { Value } from '../../components/Value.tsx';
import { ValueMenuProvider } from '../../components/ValueMenuProvider.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import { type EventSearch, filterAt, onlyValue } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { KnownSearch } from '../../search/KnownSearch.tsx';
import { Pager } from '../../search/Pager.tsx';
import { PrintCriteria } from '../../search/PrintCriteria.tsx';
import { useEventPage, useMoment } from '../../search/use-events.ts';
import { useMay } from '../../session/session-context.tsx';
import { useEventSearch } from '../../use-location.ts';

/** Every access by the operator to this tenant: when, who, why, and who attests it. */
export default function OperatorAccessPage() {
  return (
    <KnownSearch>
      <OperatorVisits />
    </KnownSearch>
  );
}

function OperatorVisits() {
  const t = useTexts();
  const [asked, change] = useEventSearch();
  const search = useMemo(() => operatorSearch(asked), [asked]);
  const { nowMs } = useMoment(search);
  const page = useEventPage(search, nowMs);
  const mayExport = useMay('exports:write');
  useListKeys(null);
  return (
    <ValueMenuProvider>
      <PageHead
        title={t.nav.operatorAccess}
        intro={t.access.intro}
        actions={
          mayExport && (
            <DownloadButton filters={filterToJson(filterAt(search, nowMs))} name="operator-access">
              {t.access.download}
            </DownloadButton>
          )
        }
      >
        <FilterBar search={asked} nowMs={nowMs} change={change} facets={ownFacets} />
      </PageHead>
      <PrintCriteria search={search} nowMs={nowMs} />
      {page.isError && <LoadError error={page.error} retry={page.refetch} />}
      {page.isPending && <Skeleton label={t.events.loading} />}
      {page.data && page.data.data.length === 0 && (
        <Notice title={t.access.none} Icon={UserRoundCheck} tone="text-add" />
      )}
      {page.data && page.data.data.length > 0 && (
        <>
          <Summary search={search} nowMs={nowMs} page={page.data} />
          <div className="records-box lg:px-3">
            <Visits events={page.data.data} search={search} />
          </div>
          <div className="flex justify-end px-4 py-4 lg:px-6">
            <Pager search={asked} nowMs={nowMs} pagination={page.data.pagination} change={change} />
          </div>
        </>
      )}
    </ValueMenuProvider>
  );
}

const ownFacets = ['user', 'action', 'resource'] as const;

function operatorSearch(search: EventSearch): EventSearch {
  return { ...search, facets: onlyValue(search.facets, 'crossTenant', 'true') };
}

interface SummaryProps {
  search: EventSearch;
  nowMs: number;
  page: EventPage;
}

function Summary({ search, nowMs, page }: SummaryProps) {
  const t = useTexts();
  const formats = useFormats();
  const filter = filterAt(search, nowMs);
  const criteria = filterToJson({ ...filter, from: filter.from ?? 0 });
  const users = useQuery({
    queryKey: ['operators', criteria],
    queryFn: () => client.stats({ ...criteria, groupBy: ['user'] }),
  });
  const { data: events, pagination } = page;
  const missing = events.filter(isUnexplained).length;
  const visits = users.data?.total ?? 0;
  const count = users.data?.data.length ?? 0;
  // The service does not count missing reasons, so with several pages the figure is for this one.
  const isAll = pagination.nextCursor === null && pagination.previousCursor === null;
  return (
    <dl className="flex flex-wrap gap-x-10 gap-y-3 px-4 pt-1 pb-4 lg:px-6">
      <Figure
        value={users.data && formats.number(users.data.total)}
        name={t.access.visits(visits)}
      />
      <Figure value={users.data && formats.number(count)} name={t.access.operators(count)} />
      <Figure
        value={formats.number(missing)}
        name={
          isAll
            ? t.access.missing
            : t.access.missingHere(events.length, formats.number(events.length))
        }
        alarming={missing > 0}
      />
    </dl>
  );
}

/** An erased reason is not a missing one: the log records the erasure. */
function isUnexplained(event: AuditEvent): boolean {
  return event.reason === null && !isErased(event, 'change');
}

function Figure(props: { value: string | undefined; name: string; alarming?: boolean }) {
  return (
    <div className={`flex flex-col-reverse ${props.alarming ? 'text-del' : ''}`}>
      <dt className={`text-xs ${props.alarming ? '' : 'text-muted'}`}>{props.name}</dt>
      <dd className="text-2xl font-semibold tracking-tight tabular-nums">{props.value ?? '…'}</dd>
    </div>
  );
}

function Visits({ events, search }: { events: readonly AuditEvent[]; search: EventSearch }) {
  const t = useTexts();
  const columns = [
    { label: t.events.time, className: 'w-44' },
    { label: t.access.operator, className: 'w-[22%]' },
    { label: t.operator.reason, className: '' },
    { label: t.access.what, className: 'w-[22%]' },
    { label: t.access.attested, className: 'w-52' },
  ];
  return (
    <table className="records dated table-fixed" aria-label={t.nav.operatorAccess}>
      <HeadRow columns={columns} />
      <tbody>
        {events.map((event) => (
          <Visit key={event.id} event={event} search={search} />
        ))}
      </tbody>
    </table>
  );
}

function Visit({ event, search }: { event: AuditEvent; search: EventSearch }) {
  const t = useTexts();
  const formats = useFormats();
  const { action, actor, resource, reason } = event;
  const email = actor.email && revealed(actor.email);
  const when = formats.dateTime(event.timestamp);
  const name = resource.name ?? wordOf(t.resources, resource.type);
  const label = t.events.open(`${wordOf(t.actions, action)}, ${name}, ${when}`);
  return (
    <tr className={`row ${isUnexplained(event) ? 'bg-del-soft/50' : ''}`}>
      <td className="corner tabular-nums">
        <AppLink href={paths.event(event.id, search)} className="row-link" aria-label={label}>
          <time dateTime={event.timestamp} className="text-muted">
            {when}
          </time>
        </AppLink>
      </td>
      <td>
        <Value
          facet="user"
          value={actor.email?.toLowerCase() ?? actor.id}
          label={actor.email ?? actor.id}
        >
          {email ?? <span className="text-del">{t.events.noEmail}</span>}
        </Value>
      </td>
      <td className="wide">
        {isUnexplained(event) ? (
          <span className="inline-flex items-center gap-1.5 font-semibold text-del">
            <TriangleAlert aria-hidden className="size-4" />
            {t.access.noReason}
          </span>
        ) : (
          <span dir="auto" className="break-words">
            {reason && revealed(reason)}
          </span>
        )}
        <ErasedBadge event={event} />
      </td>
      <td>
        <ActionLabel action={action} />
        <p dir="auto" className="truncate text-xs text-faint">
          {wordOf(t.resources, resource.type)}
          {resource.name !== null && ` · ${revealed(resource.name)}`}
        </p>
      </td>
      <td className="wide">
        <RecordedBy by={event.recordedBy} />
      </td>
    </tr>
  );
}
