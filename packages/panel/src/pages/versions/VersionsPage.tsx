import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { History, ListTree } from 'lucide-react';
import { client } from '../../api.ts';
import { ActionLabel } from '../../components/ActionLabel.tsx';
import { AppLink } from '../../components/AppLink.tsx';
import { isErased } from '../../components/Erased.tsx';
import { outcomeIn } from '../../components/outcome-in.ts';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadError, Notice, Skeleton } from '../../components/States.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { changed, emptySearch, onlyValue } from '../../search/event-search.ts';
import { useGo, useSearchPairs } from '../../use-location.ts';
import { useVersionText } from './use-version-text.ts';
import { VersionComparison } from './VersionComparison.tsx';
import { chosenVersions, type Version, versionsOf } from './versions.ts';

const versionsMax = 200;

/** The versions of a resource: any two side by side, each can be restored. */
export default function VersionsPage() {
  const t = useTexts();
  const { resourceId = '' } = useParams({ strict: false });
  const events = useQuery({
    queryKey: ['versions', resourceId],
    queryFn: () => client.page({ resourceId, includeState: true, limit: versionsMax }),
  });
  if (events.isPending) {
    return (
      <>
        <PageHead title={t.versions.title} />
        <Skeleton label={t.events.loading} />
      </>
    );
  }
  if (events.isError) return <LoadError error={events.error} retry={events.refetch} />;
  const versions = versionsOf(events.data.data);
  const erased = events.data.data.filter((event) => isErased(event, 'state')).length;
  const named = versions.find(({ event }) => event.resource.name !== null)?.event;
  const { resource } = named ?? events.data.data[0] ?? {};
  const search = changed(emptySearch, {
    facets: onlyValue({}, 'resourceId', resourceId),
    range: { kind: 'last', preset: 'all' },
  });
  return (
    <>
      <PageHead
        title={resource?.name ?? resourceId}
        aside={
          <span className="text-muted">
            {resource && wordOf(t.resources, resource.type)} ·{' '}
            {t.versions.count({ count: versions.length })}
          </span>
        }
        intro={versions.length > 1 ? t.versions.intro : ''}
        actions={
          <AppLink href={paths.events(search)} className="btn">
            <ListTree aria-hidden />
            {t.versions.allEvents}
          </AppLink>
        }
      />
      {erased > 0 && versions.length > 0 && (
        <p className="px-4 pb-3 text-muted lg:px-6">{t.versions.erased({ count: erased })}</p>
      )}
      {versions.length === 0 ? (
        <Notice
          title={erased > 0 ? t.versions.erased({ count: erased }) : t.versions.none}
          Icon={History}
        />
      ) : (
        <Versions resourceId={resourceId} versions={versions} />
      )}
    </>
  );
}

function Versions({ resourceId, versions }: { resourceId: string; versions: Version[] }) {
  const go = useGo();
  const pairs = new Map(useSearchPairs());
  const chosen = chosenVersions(versions, { left: pairs.get('left'), right: pairs.get('right') });
  const choose = (side: 'left' | 'right', key: string) => {
    const now = { left: chosen?.left.key ?? key, right: chosen?.right.key ?? key };
    go(paths.versions(resourceId, { ...now, [side]: key }), { replace: true });
  };
  const [current] = versions;
  return (
    <div className="gap-6 px-4 pb-10 lg:px-6 xl:grid xl:grid-cols-[18rem_minmax(0,1fr)]">
      <VersionHistory versions={versions} chosen={chosen} choose={choose} />
      {chosen && current && <VersionComparison {...chosen} current={current} />}
    </div>
  );
}

interface VersionHistoryProps {
  versions: readonly Version[];
  chosen: { left: Version; right: Version } | null;
  choose: (side: 'left' | 'right', key: string) => void;
}

/** The versions, newest first, with one choice for each side. */
function VersionHistory({ versions, chosen, choose }: VersionHistoryProps) {
  const t = useTexts();
  return (
    <section aria-label={t.versions.history} className="no-print mb-6">
      <div className="flex gap-2 border-b border-line pb-1.5 pl-1 text-2xs text-faint">
        <span className="w-9 text-center">{t.versions.left}</span>
        <span className="w-9 text-center">{t.versions.right}</span>
      </div>
      <ol className="max-h-80 overflow-y-auto xl:max-h-[calc(100dvh-12rem)]">
        {versions.map((version) => (
          <li
            key={version.key}
            className="flex items-start gap-2 border-b border-line py-2 pl-1 last:border-0"
          >
            <SideChoice side="left" version={version} chosen={chosen?.left} choose={choose} />
            <SideChoice side="right" version={version} chosen={chosen?.right} choose={choose} />
            <VersionName version={version} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface SideChoiceProps {
  side: 'left' | 'right';
  version: Version;
  chosen: Version | undefined;
  choose: VersionHistoryProps['choose'];
}

function SideChoice({ side, version, chosen, choose }: SideChoiceProps) {
  const t = useTexts();
  const { when } = useVersionText()(version);
  return (
    <label className="grid h-6 w-9 place-items-center">
      <input
        type="radio"
        name={`version-${side}`}
        className="size-4 accent-accent"
        aria-label={
          side === 'left'
            ? t.versions.pickLeft({ version: when })
            : t.versions.pickRight({ version: when })
        }
        checked={chosen?.key === version.key}
        onChange={() => choose(side, version.key)}
      />
    </label>
  );
}

function VersionName({ version }: { version: Version }) {
  const t = useTexts();
  const { when, who } = useVersionText()(version);
  const { event, of, isCurrent } = version;
  return (
    <div className="min-w-0 flex-1 text-[0.8125rem] leading-snug">
      <p className="flex flex-wrap items-center gap-x-2 tabular-nums">
        {when}
        {isCurrent && <span className="badge badge-accent">{t.versions.current}</span>}
      </p>
      {of === 'after' && (
        <p className="truncate text-xs text-faint">
          <ActionLabel action={event.action} outcome={outcomeIn(event)} /> {t.versions.by({ who })}
        </p>
      )}
    </div>
  );
}
