import type { AuditEvent } from '@indelible/client';
import { Outlet, useParams } from '@tanstack/react-router';
import { Bookmark, Download, FileCheck2, FoldVertical, RotateCw } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { useListKeys } from '../../components/list-keys.ts';
import { QuietSelect } from '../../components/QuietSelect.tsx';
import { Notice, QueryState } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { prefer, usePreferences } from '../../preferences.ts';
import { PrintCriteria } from '../../search/CriteriaList.tsx';
import { EmptyResult } from '../../search/EmptyResult.tsx';
import { changed, type EventSearch, frozen, type Searching } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { Pager } from '../../search/Pager.tsx';
import { useEventPage, useMoment } from '../../search/use-events.ts';
import { useListView } from '../../search/use-list-view.ts';
import { useTail } from '../../search/use-tail.ts';
import { ViewChip } from '../../search/ViewChip.tsx';
import { useMay } from '../../session/session-context.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useEventSearch, useGo } from '../../use-location.ts';
import { EventTable } from './EventTable.tsx';
import { Histogram } from './Histogram.tsx';
import { type Live, LiveSwitch } from './LiveSwitch.tsx';
import { isFresh, isRoutine, mayFold } from './routine.ts';

const SaveEvidence = lazy(() => import('./SaveEvidence.tsx'));
const SaveView = lazy(() => import('../views/SaveView.tsx'));
const FirstSteps = lazy(() => import('./FirstSteps.tsx'));

/** The events of the tenant, by the search in the address; one may be open beside the list. */
export default function EventsPage() {
  const [search] = useEventSearch();
  const go = useGo();
  const { eventId } = useParams({ strict: false });
  const change = (next: EventSearch) => go(paths.events(next));
  const { nowMs, refresh } = useMoment(search);
  const searching = { search, nowMs, change };
  const page = useEventPage(search, nowMs);
  const [isLive, setLive] = useState(false);
  const tail = useTail(search, nowMs, page.isPlaceholderData ? undefined : page.data);
  const live = { tail, isLive, setLive };
  const listed = useLiveRows(page.data?.data, isLive ? tail?.events : undefined);
  const shown = useShown(listed, search);
  const hrefOf = (id: string) => paths.event(id, search);
  useListKeys(eventId === undefined ? null : paths.events(search));
  return (
    <div className={eventId === undefined ? '' : 'xl:grid xl:grid-cols-[minmax(0,1fr)_32rem]'}>
      <div className={eventId === undefined ? 'min-w-0' : 'min-w-0 print:hidden'}>
        <Head
          {...searching}
          page={page}
          live={live}
          refresh={refresh}
          folded={(listed?.length ?? 0) - shown.length}
        />
        <Histogram {...searching} />
        <PrintCriteria search={search} nowMs={nowMs} />
        <div
          className={`records-box mt-2 px-1 transition-opacity lg:px-3 ${page.isPlaceholderData ? 'opacity-50' : ''}`}
          aria-busy={page.isFetching}
        >
          <Rows
            page={page}
            listed={listed}
            shown={shown}
            search={search}
            hrefOf={hrefOf}
            change={change}
            openId={eventId}
          />
        </div>
        {page.data && page.data.data.length > 0 && (
          <div className="flex justify-end px-4 py-4 lg:px-6">
            <Pager
              {...searching}
              pagination={page.data.pagination}
              isFormer={page.isPlaceholderData}
            />
          </div>
        )}
      </div>
      <Outlet />
    </div>
  );
}

type Page = ReturnType<typeof useEventPage>;

/** The page with the live events on top. */
function useLiveRows(events: readonly AuditEvent[] | undefined, fresh: readonly AuditEvent[] = []) {
  return useMemo(() => events && [...fresh, ...events], [events, fresh]);
}

/** The events of the page, without those that the reader has chosen to fold away. */
function useShown(events: readonly AuditEvent[] = [], search: EventSearch) {
  const { foldsRoutine } = usePreferences();
  if (!foldsRoutine || !mayFold(search)) return events;
  return events.filter((event) => !isRoutine(event));
}

interface RowsProps extends Omit<Searching, 'nowMs'> {
  page: Page;
  listed: readonly AuditEvent[] | undefined;
  shown: readonly AuditEvent[];
  openId: string | undefined;
  hrefOf: (id: string) => string;
}

function Rows({ page, listed, shown, search, openId, hrefOf, change }: RowsProps) {
  const t = useTexts();
  const [view] = useListView();
  if (page.isError || listed === undefined) return <QueryState query={page} lines={12} />;
  if (listed.length === 0) return <EmptyResult search={search} change={change} />;
  if (shown.length === 0) return <Notice title={t.events.allFolded} Icon={FoldVertical} />;
  const byDay = search.sort === 'timestamp';
  return (
    <>
      <Suspense>{isFresh(listed, search) && <FirstSteps />}</Suspense>
      <EventTable events={shown} openId={openId} byDay={byDay} hrefOf={hrefOf} view={view} />
    </>
  );
}

interface HeadProps extends Searching {
  page: Page;
  live: Live;
  /** How many events of the page are folded away. */
  folded: number;
  refresh: () => void;
}

function Head({ search, nowMs, page, live, folded, refresh, change }: HeadProps) {
  const t = useTexts();
  const reload = () => {
    refresh();
    change(changed(search, {}));
  };
  return (
    <div className="@container px-4 pt-5 pb-3 lg:px-6">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-2">
        <h1 className="text-xl font-semibold tracking-tight">{t.nav.events}</h1>
        <Total page={page} />
        {folded > 0 && <p className="text-muted">{t.events.folded({ count: folded })}</p>}
        <button
          type="button"
          className="no-print btn btn-quiet icon-btn"
          aria-label={t.buttons.refresh}
          title={t.buttons.refresh}
          onClick={reload}
        >
          <RotateCw aria-hidden className={page.isFetching ? 'animate-spin' : ''} />
        </button>
        <LiveSwitch live={live} reload={reload} />
        <Actions search={search} nowMs={nowMs} />
      </div>
      <div className="mt-3">
        <FilterBar search={search} nowMs={nowMs} change={change}>
          {mayFold(search) && <FoldSwitch />}
          <div className="ml-auto flex">
            <ViewChip />
            <SortPicker search={search} change={change} />
          </div>
        </FilterBar>
      </div>
    </div>
  );
}

/** Remembered in this browser. It changes what the page shows, not what the service answers. */
function FoldSwitch() {
  const t = useTexts();
  const { foldsRoutine } = usePreferences();
  return (
    <Button
      Icon={FoldVertical}
      className="no-print aria-pressed:border-accent/40 aria-pressed:bg-accent-soft"
      aria-pressed={foldsRoutine}
      title={t.events.foldHint}
      onClick={() => prefer({ foldsRoutine: !foldsRoutine })}
    >
      {t.events.fold}
    </Button>
  );
}

function Total({ page }: { page: Page }) {
  const t = useTexts();
  const total = page.data?.pagination.total;
  if (total === undefined) return null;
  return (
    <p
      role="status"
      className={`text-muted tabular-nums ${page.isPlaceholderData ? 'opacity-50' : ''}`}
    >
      {total.relation === 'gte'
        ? t.events.countOver({ count: total.value })
        : t.events.count({ count: total.value })}
    </p>
  );
}

function Actions({ search, nowMs }: Omit<Searching, 'change'>) {
  const t = useTexts();
  const mayExport = useMay('exports:write');
  const [saving, setSaving] = useUnfinished<'view' | 'evidence' | null>('saving', () => null);
  const close = () => setSaving(null);
  // An absolute range, so that the link shows the same events later.
  const [view] = useListView();
  const shown = { ...frozen(search, nowMs), view };
  const link = () => location.origin + paths.events(shown);
  return (
    <div className="no-print ml-auto flex flex-wrap items-center gap-1.5">
      <CopyButton text={link} className="btn btn-quiet">
        <span className="@max-3xl:sr-only">{t.buttons.copyLink}</span>
      </CopyButton>
      <Button Icon={Bookmark} look="quiet" onClick={() => setSaving('view')}>
        <span className="@max-3xl:sr-only">{t.views.save}</span>
      </Button>
      <Button Icon={FileCheck2} look="quiet" onClick={() => setSaving('evidence')}>
        <span className="@max-3xl:sr-only">{t.events.saveEvidence}</span>
      </Button>
      {mayExport && (
        <AppLink href={paths.exports(shown)} className="btn">
          <Download aria-hidden />
          <span className="@max-lg:sr-only">{t.events.exportThese}</span>
        </AppLink>
      )}
      <Suspense>
        {saving === 'view' && <SaveView search={{ ...search, view }} close={close} />}
        {saving === 'evidence' && <SaveEvidence search={search} nowMs={nowMs} close={close} />}
      </Suspense>
    </div>
  );
}

const orders = [
  { key: 'newest', sort: 'timestamp', order: 'desc', text: 'sortNewest' },
  { key: 'oldest', sort: 'timestamp', order: 'asc', text: 'sortOldest' },
  { key: 'user', sort: 'user', order: 'asc', text: 'sortUser' },
] as const;

function SortPicker({ search, change }: Omit<Searching, 'nowMs'>) {
  const t = useTexts();
  const current = orders.find(({ sort, order }) => sort === search.sort && order === search.order);
  const choose = (key: (typeof orders)[number]['key']) => {
    const { sort, order } = orders.find((each) => each.key === key) ?? orders[0];
    change(changed(search, { sort, order }));
  };
  return (
    <QuietSelect
      label={t.events.sort}
      value={current?.key}
      options={orders.map(({ key, text }) => ({ value: key, text: t.events[text] }))}
      choose={choose}
    />
  );
}
