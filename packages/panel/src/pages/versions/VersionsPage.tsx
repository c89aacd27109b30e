import type { FacetName } from '@indelible/protocol';
import { useParams } from '@tanstack/react-router';
import { History, ListTree } from 'lucide-react';
import { useEffect } from 'react';
import { client } from '../../api.ts';
import { ActionLabel } from '../../components/ActionLabel.tsx';
import { AppLink } from '../../components/AppLink.tsx';
import { isErased } from '../../components/Erased.tsx';
import { Select } from '../../components/fields.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { OlderButton, usePages } from '../../components/paged-list.tsx';
import { ActionError, FailedPage, LoadingPage, Notice } from '../../components/States.tsx';
import { useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { changed, everything, onlyValue } from '../../search/event-search.ts';
import { useGo, useSearchPairs } from '../../use-location.ts';
import { useVersionText } from './use-version-text.ts';
import { VersionComparison } from './VersionComparison.tsx';
import { chosenVersions, unrecordedRestore, type Version, versionsOf } from './versions.ts';

const pageSize = 200;

/** The versions of a resource: any two side by side, each can be restored. */
export default function VersionsPage() {
  const { t, formats } = useReader();
  const { resourceId = '' } = useParams({ strict: false });
  const events = usePages(['versions', resourceId], {
    list: (cursor) =>
      client.page({ resourceId, includeState: true, limit: pageSize, ...(cursor && { cursor }) }),
  });
  if (events.isPending) return <LoadingPage title={t.versions.title} />;
  if (events.items === undefined) return <FailedPage query={events} />;
  const versions = versionsOf(events.items, !events.hasNextPage);
  const erased = events.items.filter((event) => isErased(event, 'state')).length;
  const restoredAt = unrecordedRestore(events.items);
  const named = versions.find(({ event }) => event.resource.name !== null)?.event;
  const { resource } = named ?? events.items[0] ?? {};
  const searchBy = (facet: FacetName) =>
    changed(everything, { facets: onlyValue({}, facet, resourceId) });
  return (
    <>
      <PageHead
        title={resource?.name ?? resourceId}
        aside={
          <span className="text-muted">
            {resource && wordOf(t.resources, resource.type)}
            {!events.hasNextPage && ` · ${t.versions.count({ count: versions.length })}`}
          </span>
        }
        intro={versions.length > 1 ? t.versions.intro : ''}
        actions={
          <>
            <AppLink href={paths.events(searchBy('target'))} className="link">
              {t.versions.asTarget}
            </AppLink>
            <AppLink href={paths.events(searchBy('resourceId'))} className="btn">
              <ListTree aria-hidden />
              {t.versions.allEvents}
            </AppLink>
          </>
        }
      />
      {erased > 0 && versions.length > 0 && (
        <p className="px-4 pb-3 text-muted lg:px-6">{t.versions.erased({ count: erased })}</p>
      )}
      {restoredAt !== null && (
        <p role="status" className="px-4 pb-3 text-warn lg:px-6">
          {t.versions.restored({ when: formats.dateTime(restoredAt) })}
        </p>
      )}
      {versions.length === 0 && !events.hasNextPage ? (
        <Notice
          title={erased > 0 ? t.versions.erased({ count: erased }) : t.versions.none}
          Icon={History}
        />
      ) : (
        <Versions resourceId={resourceId} versions={versions} pages={events} />
      )}
    </>
  );
}

interface VersionsProps {
  resourceId: string;
  versions: Version[];
  /** The loaded events that hold the versions. */
  pages: ReturnType<typeof usePages>;
}

function Versions({ resourceId, versions, pages }: VersionsProps) {
  const t = useTexts();
  const pairs = new Map(useSearchPairs());
  const [pinned, right] = [pairs.get('left'), pairs.get('right')];
  const chosen = chosenVersions(versions, { left: pinned, right });
  const isMissing = [pinned, right].some((key) => key && !versions.some((v) => v.key === key));
  const { hasNextPage, isFetching, isError, fetchNextPage } = pages;
  const isSought = isMissing && hasNextPage && !isError;
  useEffect(() => {
    if (isSought && !isFetching) void fetchNextPage();
  }, [isSought, isFetching, fetchNextPage]);
  const pathOf: PathOf = (right, left = pinned) =>
    paths.versions(resourceId, left ? { left, right } : { right });
  const [current] = versions;
  return (
    <div className="gap-6 px-4 pb-10 lg:px-6 xl:grid xl:grid-cols-[18rem_minmax(0,1fr)]">
      <div className="no-print mb-6">
        <VersionHistory versions={versions} chosen={chosen} pathOf={pathOf} />
        <OlderButton list={pages} />
        <ActionError error={pages.error} />
      </div>
      {isMissing && !isSought && !isError && <Notice title={t.error.eventNotFound} />}
      {chosen && current && (
        <div className="min-w-0">
          <TimeTravel versions={versions} chosen={chosen} isPinned={!!pinned} pathOf={pathOf} />
          <VersionComparison {...chosen} current={current} />
        </div>
      )}
    </div>
  );
}

/** The address of two versions; an empty left key stands for the one before. */
type PathOf = (right: string, left?: string) => string;

interface VersionHistoryProps {
  versions: readonly Version[];
  chosen: { left: Version; right: Version } | null;
  pathOf: PathOf;
}

/** Moves through the life of the resource, from its oldest state on the left to the current one. */
function TimeTravel(props: VersionHistoryProps & { isPinned: boolean }) {
  const { versions, chosen, isPinned, pathOf } = props;
  const t = useTexts();
  const go = useGo();
  const { name } = useVersionText();
  if (chosen === null) return null;
  const { left, right } = chosen;
  const last = versions.length - 1;
  const show = (step: number) => {
    const version = versions[last - step];
    if (version) go(pathOf(version.key), { replace: true });
  };
  return (
    <div className="no-print mb-3 flex flex-wrap items-center gap-x-6 gap-y-2">
      <label className="flex min-w-64 flex-1 items-center gap-3 text-[0.8125rem] text-muted">
        {t.versions.slider}
        <input
          type="range"
          className="h-6 min-w-0 flex-1 cursor-pointer accent-accent"
          min={1}
          max={last}
          value={last - versions.indexOf(right)}
          aria-valuetext={name(right)}
          onChange={({ target }) => show(Number(target.value))}
        />
      </label>
      <label className="flex min-w-0 items-center gap-2 text-[0.8125rem] text-muted">
        {t.versions.comparedWith}
        <Select
          className="field h-8 w-56 min-w-0 px-2"
          value={isPinned ? left.key : ''}
          options={[
            { value: '', text: t.versions.theOneBefore },
            ...versions.map((version) => ({
              value: version.key,
              text: name(version),
              disabled: version === right,
            })),
          ]}
          choose={(key) => go(pathOf(right.key, key), { replace: true })}
        />
      </label>
    </div>
  );
}

/** The versions, newest first; the two that are shown are marked. */
function VersionHistory({ versions, chosen, pathOf }: VersionHistoryProps) {
  const t = useTexts();
  const { when, who } = useVersionText();
  return (
    <section aria-label={t.versions.history}>
      <ol className="max-h-80 overflow-y-auto xl:max-h-[calc(100dvh-12rem)]">
        {versions.map((version) => (
          <li key={version.key} className="border-b border-line last:border-0">
            <AppLink
              href={pathOf(version.key)}
              aria-current={version === chosen?.right}
              className="block rounded-md px-2 py-2 text-[0.8125rem] leading-snug hover:bg-hover aria-[current=true]:bg-accent-soft"
            >
              <span className="flex flex-wrap items-center gap-x-2 tabular-nums">
                {when(version)}
                {version.isCurrent && (
                  <span className="badge badge-accent">{t.versions.current}</span>
                )}
                {version === chosen?.left && (
                  <span className="badge badge-plain">{t.detail.before}</span>
                )}
                {version === chosen?.right && (
                  <span className="badge badge-plain">{t.detail.after}</span>
                )}
              </span>
              {version.of === 'after' && (
                <span className="block truncate text-xs text-muted">
                  <ActionLabel event={version.event} /> {t.versions.by({ who: who(version) })}
                </span>
              )}
            </AppLink>
          </li>
        ))}
      </ol>
    </section>
  );
}
