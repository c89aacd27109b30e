import type { EventCriteria, EventPage } from '@indelible/client';
import { filterToJson } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { UserRoundCheck } from 'lucide-react';
import { useMemo } from 'react';
import { client } from '../../api.ts';
import { DownloadButton } from '../../components/FileButton.tsx';
import { useListKeys } from '../../components/list-keys.ts';
import { PageHead } from '../../components/PageHead.tsx';
import { ActionError, QueryState } from '../../components/States.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { PrintCriteria } from '../../search/CriteriaList.tsx';
import { EmptyResult } from '../../search/EmptyResult.tsx';
import { type EventSearch, filterAt, onlyValue } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { Pager } from '../../search/Pager.tsx';
import { useEventPage, useMoment } from '../../search/use-events.ts';
import { useMay } from '../../session/session-context.tsx';
import { useEventSearch } from '../../use-location.ts';
import { VisitTable } from './VisitTable.tsx';
import { visitsOf } from './visits.ts';

/** Every access by the operator to this tenant: when, who, why, and who attests it. */
export default function OperatorAccessPage() {
  const t = useTexts();
  const [asked, change] = useEventSearch();
  const search = useMemo(() => operatorSearch(asked), [asked]);
  const { nowMs } = useMoment(search);
  const page = useEventPage(search, nowMs);
  const mayExport = useMay('exports:write');
  useListKeys(null);
  return (
    <>
      <PageHead
        title={t.nav.operatorAccess}
        intro={t.access.intro}
        actions={
          mayExport && (
            <DownloadButton
              input={{ filters: filterToJson(filterAt(search, nowMs)), format: 'csv' }}
              name="operator-access"
            >
              {t.access.download}
            </DownloadButton>
          )
        }
      >
        <FilterBar search={asked} nowMs={nowMs} change={change} facets={ownFacets} />
      </PageHead>
      <PrintCriteria search={search} nowMs={nowMs} />
      <QueryState query={page} />
      {page.data && page.data.data.length === 0 && (
        <EmptyResult
          search={asked}
          change={change}
          none={{ title: t.access.none, Icon: UserRoundCheck, tone: 'text-add' }}
        />
      )}
      {page.data && page.data.data.length > 0 && (
        <>
          <Summary search={search} nowMs={nowMs} />
          <div className="records-box px-1 lg:px-3">
            <VisitTable visits={visitsOf(page.data.data)} search={search} />
          </div>
          <div className="flex flex-wrap items-center justify-end gap-x-4 px-4 py-4 lg:px-6">
            {!isWhole(page.data) && <p className="text-xs text-muted">{t.access.continues}</p>}
            <Pager
              search={asked}
              nowMs={nowMs}
              change={change}
              pagination={page.data.pagination}
              isFormer={page.isPlaceholderData}
            />
          </div>
        </>
      )}
    </>
  );
}

const ownFacets = ['user', 'action', 'resource', 'hasReason'] as const;

const isWhole = ({ pagination }: EventPage) =>
  pagination.nextCursor === null && pagination.previousCursor === null;

function operatorSearch(search: EventSearch): EventSearch {
  return { ...search, facets: onlyValue(search.facets, 'crossTenant', 'true') };
}

/** Counted by the service, over all pages. */
function Summary({ search, nowMs }: { search: EventSearch; nowMs: number }) {
  const { t, formats } = useReader();
  const filter = filterAt(search, nowMs);
  // Without a beginning the service would count the last 30 days only.
  const criteria = filterToJson({ ...filter, from: filter.from ?? 0 });
  const counts = useCounts(criteria);
  const without = useCounts({ ...criteria, hasReason: ['false'] });
  const error = counts.error ?? without.error;
  if (error) return <ActionError error={error} className="px-4 pb-4 lg:px-6" />;
  const users = counts.data;
  const missing = without.data?.total;
  const total = users?.total ?? 0;
  const count = users?.data.length ?? 0;
  return (
    <dl className="flex flex-wrap gap-x-10 gap-y-3 px-4 pt-1 pb-4 lg:px-6">
      <Figure value={users && formats.number(count)} name={t.access.operators({ count })} />
      <Figure
        value={users && formats.number(total)}
        name={t.access.recordsNamed({ count: total })}
      />
      <Figure
        value={missing === undefined ? undefined : formats.number(missing)}
        name={t.access.missing}
        alarming={missing !== undefined && missing > 0}
      />
    </dl>
  );
}

function useCounts(criteria: EventCriteria) {
  return useQuery({
    queryKey: ['operators', criteria],
    queryFn: () => client.stats({ ...criteria, groupBy: ['user'] }),
  });
}

function Figure(props: { value: string | undefined; name: string; alarming?: boolean }) {
  return (
    <div className={`flex flex-col-reverse ${props.alarming ? 'text-del' : ''}`}>
      <dt className={`text-xs ${props.alarming ? '' : 'text-muted'}`}>{props.name}</dt>
      <dd className="text-2xl font-semibold tracking-tight tabular-nums">{props.value ?? '…'}</dd>
    </div>
  );
}
